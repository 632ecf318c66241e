"""The refusals of words that are not known, with the nearest one that is."""

from __future__ import annotations

import re
from typing import Iterable, List

MEANT = {
    **dict.fromkeys(("timeout", "within", "wait"), ("limit_seconds",)),
    **dict.fromkeys(("command", "cmd"), ("on",)),
    **dict.fromkeys(("at_most", "max"), ("atmost",)),
    "clients": ("client",),
    "count": ("times",),
    "exactly": ("exact",),
}
"""Names of other libraries, and what they mean here."""

NEAR = 2
"""The most edits between two words of which one may be meant for the other."""


def no_option(shown: str, word: str, options: List[str]) -> str:
    """The refusal of an option: its name, the nearest one, and all that there are."""
    return f"{shown} has no option '{word}'{perhaps(word, options) or '.'} It has {', '.join(options)}"


def not_one_of(what: str, word: str, known: List[str]) -> str:
    """The refusal of a word that is not known."""
    return f"{what} is one of {', '.join(known)}, not '{word}'{perhaps(str(word), known)}"


def perhaps(word: str, known: Iterable[str]) -> str:
    """Asks whether the nearest of the known words was meant; empty if no word is near."""
    names = list(known)
    meant: List[str] = [name for name in MEANT.get(word.lower(), ()) if name in names]
    # A duration has its unit behind its name.
    near = [(edits(word.lower(), re.sub("_seconds$", "", name.lower())), name) for name in names]
    near += [(edits(word.lower(), name.lower()), name) for name in names]
    near = [(distance, name) for distance, name in near if distance <= NEAR and distance < len(word)]
    nearest = meant[:1] or [name for _, name in sorted(near, key=lambda each: each[0])][:1]
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def edits(one: str, other: str) -> int:
    """The number of letters to insert, delete or replace to make one word the other."""
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one, 1):
        above, row = row, [index]
        for at, wanted in enumerate(other, 1):
            row.append(min(above[at] + 1, row[-1] + 1, above[at - 1] + (letter != wanted)))
    return row[-1]
