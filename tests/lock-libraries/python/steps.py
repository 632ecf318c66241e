"""Reads steps, a line each, and says a line each how they went."""

import sys


def follow(library):
    for line in sys.stdin:
        step = line.strip()
        if step == "take":
            owner = library.take()
            answer = "refused" if owner is None else f"held {owner}"
        else:
            done = getattr(library, step)()
            answer = "done" if done else "lost"
        print(answer, flush=True)
