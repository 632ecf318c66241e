"""What a server knows of a test that has failed."""

from __future__ import annotations

import re
from itertools import dropwhile, groupby
from typing import Callable, Dict, Iterable, List, Sequence, Tuple

from ._errors import ServerError
from ._process import Process
from ._resp import Reply, pairs
from ._types import ClockInfo, Rule, Verdict
from ._verify import verdict_lines
from ._words import items, number

AskReply = Callable[..., Reply]
Lines = Callable[[AskReply], List[str]]

ENTRIES_SHOWN = 100
"""How many entries of the history a report shows, the last ones."""

RUN_SHOWN = 2
"""The most same commands in a row which have each a line of its own."""

LOST = re.compile(
    r"\d+ \d+ ms lost (.+?) db=\d+ kind=foreign .*owner=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+(:write)? "
    r".*cause=expired"
)
"""The end of a lease of Redisson's, as a line of the history."""

STEERING = (
    *("CLOCK.", "AWAIT.", "CONTROL.", "FAULT.", "LOCK.HISTORY", "LOCK.VERIFY", "LOCK.OBSERVE"),
    *("SLOWLOG ", "CLIENT LIST"),
)
"""How the commands begin by which tests and fixtures steer the server: they are in no report."""


def clock_lines(ask: AskReply) -> List[str]:
    """Where the clocks stand."""
    told = ClockInfo.read(ask("CLOCK.INFO"))
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
    """The last commands, of SLOWLOG GET, the newest last; of the same in a row one line."""
    entries = items(ask("SLOWLOG", "GET", -1))
    commands = [command(entry) for entry in reversed(entries) if isinstance(entry, list)]
    told = [each for each in commands if not (each[1].upper() + " ").startswith(STEERING)]
    return [line for _, run in groupby(told, lambda each: each[1]) for line in lines_of_run(list(run))]


def command(entry: List[Reply]) -> Tuple[str, str]:
    """One command: its client and its words."""
    _, _, _, arguments, addr, name = entry[:6]
    words = [str(word) for word in arguments] if isinstance(arguments, list) else []
    return str(name or addr), " ".join(map(quoted, words))


def lines_of_run(run: Sequence[Tuple[str, str]]) -> List[str]:
    """The lines of a command that was sent once or several times in a row."""
    if len(run) <= RUN_SHOWN:
        return [f"{client}: {words}" for client, words in run]
    clients = {client for client, _ in run}
    (client, words), times = run[0], f"{len(run)} times"
    return [f"{client}: {words} ({times})" if len(clients) == 1 else f"{words} ({times}, {len(clients)} clients)"]


def quoted(word: str) -> str:
    """A word as it is, unless it would not be seen as one."""
    return word if word.isprintable() and word and " " not in word else repr(word)


def fault_lines(ask: AskReply) -> List[str]:
    """The rules that have acted, of FAULT.LIST."""
    rules = map(Rule.read, items(ask("FAULT.LIST")))
    return [f"{rule.name} ({rule.rule}): hits={rule.hits} held={rule.held}" for rule in rules if rule.hits]


def finding_lines(ask: AskReply) -> List[str]:
    """The findings of LOCK.VERIFY, and a note on the watchdog of Redisson."""
    told = Verdict.read(ask("LOCK.VERIFY", "LEVEL", "SUSPECT"))
    try:
        entries = history_lines(ask)
    except ServerError:  # The history is off.
        entries = []
    return verdict_lines(told) + watchdog_lines(entries)


def watchdog_lines(entries: Iterable[str]) -> List[str]:
    """A note for advances that may have ended a lease which Redisson's watchdog would have renewed."""
    turned = dropwhile(lambda line: " ms clock " not in line, entries)
    keys = list(dict.fromkeys(found[1] for found in map(LOST.match, turned) if found))
    if not keys:
        return []
    lost_locks = f"{keys[0]} was" if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1} more were"
    return [
        f"note: {lost_locks} lost by expiry after the clock was turned. Redisson's watchdog renews a lock in real time, "
        "which the clock does not turn: without a lease time of its own a lock needs a small lockWatchdogTimeout, "
        'turns shorter than that, and await_.event("renewed") after each'
    ]


def history_lines(ask: AskReply) -> List[str]:
    """The last entries of LOCK.HISTORY."""
    last = number(pairs(ask("LOCK.HISTORY", "COUNT", 0))["last"])
    earlier = max(0, last - ENTRIES_SHOWN)
    begin = [f"({earlier} earlier entries)"] if earlier else []
    text = str(ask("LOCK.HISTORY", "SINCE", earlier, "FORMAT", "TEXT"))
    return begin + list(filter(None, text.split("\n")))


PARTS: Sequence[Tuple[str, Lines]] = (
    ("clock", clock_lines),
    ("waiting", waiting_lines),
    ("faults that acted", fault_lines),
    ("findings", finding_lines),
    ("history", history_lines),
    ("last commands", command_lines),
)
"""What a report has, and how it is asked for."""


def text(process: Process, ask: AskReply, answered: Callable[[], int], hangs: Callable[[], bool]) -> str:
    """The report; what goes wrong when a part is asked for is shown in its place. `answered` is the place of the server
    that has answered last, and `hangs` whether the first one lives and was passed over."""
    title = [f"lockwheel on {process.access.address}, seed {process.options.effective_seed}"]
    if not process.is_running:
        title.append("it has ended")
    lines: List[str] = []
    for name, told in PARTS:
        try:
            lines += part(name, told(ask))
        except Exception as error:
            lines += part(name, [f"{error!r}"])
    if process.is_running and (place := answered()) > 0:
        state = "hangs" if hangs() else "is down"
        title.append(f"server 0 {state}: server {place} ({process.servers[place][1].address}) tells")
    return "\n".join(title + lines + part("log", process.log()))


def part(title: str, lines: Sequence[str]) -> List[str]:
    """A part with its title, or that there is nothing of it."""
    return [f"{title}:", *(f"    {line}" for line in lines)] if lines else [f"{title}: nothing"]
