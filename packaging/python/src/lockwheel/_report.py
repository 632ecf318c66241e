"""What a server knows of a test that has failed."""

from __future__ import annotations

from typing import Callable, Dict, List, Sequence, Tuple, Union

from ._access import HOST
from ._process import Process
from ._requests import Info, info
from ._resp import Argument, Reply

Lines = Callable[[Reply], List[str]]

STEERING = ("CLOCK.", "AWAIT.", "CONTROL.", "SLOWLOG ", "CLIENT LIST")
"""How the commands begin by which tests and fixtures steer the server: they are in no report."""


def clock_lines(reply: Reply) -> List[str]:
    """Where the hands stand."""
    told: Info = info().read(reply)
    ahead = "no deadline" if told.next is None else f"next deadline in {told.next.total_seconds():g} s"
    wall = told.wall.isoformat(timespec="milliseconds")
    return [f"{told.mode}, {wall}, monotonic {told.monotonic.total_seconds():g} s, {ahead}, {told.timers} timers"]


def waiting_lines(reply: Reply) -> List[str]:
    """The clients that are blocked, of CLIENT LIST."""
    clients = [fields(line) for line in str(reply).splitlines()]
    return [
        f"id={client['id']} name={client['name']} addr={client['addr']} cmd={client['cmd']}"
        for client in clients
        if "b" in client.get("flags", "") and not client["cmd"].startswith("await")
    ]


def fields(line: str) -> Dict[str, str]:
    """The `name=value` of a line of CLIENT LIST."""
    return dict(pair.partition("=")[::2] for pair in line.split(" "))


def command_lines(reply: Reply) -> List[str]:
    """The last commands, of SLOWLOG GET, the newest last."""
    entries = reply if isinstance(reply, list) else []
    lines = [command_line(entry) for entry in reversed(entries) if isinstance(entry, list)]
    return [line for line in lines if line]


def command_line(entry: List[Reply]) -> str:
    """One command with its client; nothing for one that steers the server."""
    _, _, _, arguments, addr, name = entry[:6]
    words = [str(word) for word in arguments] if isinstance(arguments, list) else []
    if (" ".join(words).upper() + " ").startswith(STEERING):
        return ""
    return f"{name or addr}: {' '.join(map(quoted, words))}"


def quoted(word: str) -> str:
    """A word as it is, unless it would not be seen as one."""
    return word if word.isprintable() and word and " " not in word else repr(word)


PARTS: Sequence[Tuple[str, Tuple[Argument, ...], Lines]] = (
    ("clock", ("CLOCK.INFO",), clock_lines),
    ("waiting", ("CLIENT", "LIST"), waiting_lines),
    ("last commands", ("SLOWLOG", "GET", -1), command_lines),
)
"""What is asked for a report, with how it is shown. All is asked before anything is shown."""


def text(process: Process, replies: Sequence[Union[Reply, Exception]]) -> str:
    """The report, of the replies to `PARTS`; an exception among them is shown."""
    lines = [f"lockwheel on {HOST}:{process.access.port}, seed {process.options.seed}"]
    if not process.is_running:
        lines.append("it has ended")
    for (title, _, show), reply in zip(PARTS, replies):
        lines += part(title, [f"{reply!r}"] if isinstance(reply, Exception) else show(reply))
    return "\n".join(lines + part("log", process.log()))


def part(title: str, lines: Sequence[str]) -> List[str]:
    """A part with its title, or that there is nothing of it."""
    return [f"{title}:", *(f"    {line}" for line in lines)] if lines else [f"{title}: nothing"]
