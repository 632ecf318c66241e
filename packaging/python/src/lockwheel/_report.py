"""What a server knows of a test that has failed."""

from __future__ import annotations

from typing import Callable, Dict, Hashable, List, Sequence, Tuple

from ._access import HOST
from ._asked import faults, history, items, number
from ._asked.clock import Info, info
from ._process import Process
from ._resp import Reply, pairs

AskReply = Callable[..., Reply]
Lines = Callable[[AskReply], List[str]]

ENTRIES_SHOWN = 100
"""How many entries of the history a report shows, the last ones."""

STEERING = (
    *("CLOCK.", "AWAIT.", "CONTROL.", "FAULT.", "LOCK.HISTORY", "LOCK.VERIFY", "LOCK.OBSERVE"),
    *("SLOWLOG ", "CLIENT LIST"),
)
"""How the commands begin by which tests and fixtures steer the server: they are in no report."""


def clock_lines(ask: AskReply) -> List[str]:
    """Where the hands stand."""
    told: Info = info().read(ask("CLOCK.INFO"))
    ahead = "no deadline" if told.next is None else f"next deadline in {told.next.total_seconds():g} s"
    wall = told.wall.isoformat(timespec="milliseconds")
    return [f"{told.mode}, {wall}, monotonic {told.monotonic.total_seconds():g} s, {ahead}, {told.timers} timers"]


def waiting_lines(ask: AskReply) -> List[str]:
    """The clients that are blocked, of CLIENT LIST."""
    clients = [fields(line) for line in str(ask("CLIENT", "LIST")).splitlines()]
    return [
        f"id={client['id']} name={client['name']} addr={client['addr']} cmd={client['cmd']}"
        for client in clients
        if "b" in client.get("flags", "") and not client["cmd"].startswith("await")
    ]


def fields(line: str) -> Dict[str, str]:
    """The `name=value` of a line of CLIENT LIST."""
    return dict(pair.partition("=")[::2] for pair in line.split(" "))


def command_lines(ask: AskReply) -> List[str]:
    """The last commands, of SLOWLOG GET, the newest last."""
    entries = items(ask("SLOWLOG", "GET", -1))
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


def fault_lines(ask: AskReply) -> List[str]:
    """The rules that have acted, of FAULT.LIST."""
    rules = faults.rules().read(ask("FAULT.LIST"))
    return [f"{rule.name} ({rule.rule}): hits={rule.hits} held={rule.held}" for rule in rules if rule.hits]


def finding_lines(ask: AskReply) -> List[str]:
    """What LOCK.VERIFY has found."""
    told = history.verdict(ask("LOCK.VERIFY", "LEVEL", "SUSPECT"))
    return history.lines(told.findings) or [told.verdict]


def history_lines(ask: AskReply) -> List[str]:
    """The last entries of LOCK.HISTORY."""
    last = number(pairs(ask("LOCK.HISTORY", "COUNT", 0))["last"])
    earlier = max(0, last - ENTRIES_SHOWN)
    begin = [f"({earlier} earlier entries)"] if earlier else []
    entries = items(pairs(ask("LOCK.HISTORY", "SINCE", earlier))["entries"])
    return begin + [entry_line(pairs(each)) for each in entries]


def entry_line(entry: Dict[Hashable, Reply]) -> str:
    """An entry: its number, when, what, and all else that is known of it."""
    said = ("seq", "wall", "monotonic", "event", "key")
    told = {name: value for name, value in entry.items() if name not in said and value not in (None, "")}
    if told.get("waited") == 0:
        del told["waited"]
    rest = [f"{name}={value}" for name, value in told.items()]
    begin = [f"{entry['seq']}", f"{entry['monotonic']} ms", f"{entry['event']}", f"{entry.get('key') or ''}"]
    return " ".join(filter(None, begin + rest))


PARTS: Sequence[Tuple[str, Lines]] = (
    ("clock", clock_lines),
    ("waiting", waiting_lines),
    ("faults that acted", fault_lines),
    ("findings", finding_lines),
    ("history", history_lines),
    ("last commands", command_lines),
)
"""What a report has, and how it is asked for."""


def text(process: Process, ask: AskReply) -> str:
    """The report; what goes wrong when a part is asked for is shown in its place."""
    lines = [f"lockwheel on {HOST}:{process.access.port}, seed {process.options.seed}"]
    if not process.is_running:
        lines.append("it has ended")
    for title, told in PARTS:
        try:
            lines += part(title, told(ask))
        except Exception as error:
            lines += part(title, [f"{error!r}"])
    return "\n".join(lines + part("log", process.log()))


def part(title: str, lines: Sequence[str]) -> List[str]:
    """A part with its title, or that there is nothing of it."""
    return [f"{title}:", *(f"    {line}" for line in lines)] if lines else [f"{title}: nothing"]
