"""What is asked of a server about what happened to locks, and what it finds wrong in that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Callable, Dict, Hashable, List, Optional, Sequence, Tuple

from .._resp import Argument, Reply, pairs
from . import Request, T, at, done, items, maybe, named, number, span, text

__tracebackhide__ = True


@dataclass(frozen=True)
class Entry:
    """Something that happened to a lock, or beside one. What an event does not have is None."""

    seq: int
    wall: datetime
    monotonic: timedelta
    event: str
    """`acquired`, `released`, `lost`, `queued`, `fault`, `mark`, …"""
    db: Optional[int]
    key: Optional[str]
    kind: Optional[str]
    """`native`, or `foreign` where a script or a bare command took the lock."""
    mode: Optional[str]
    """`exclusive`, `shared` or `write`."""
    owner: Optional[str]
    grant: Optional[int]
    holds: Optional[int]
    ttl: Optional[timedelta]
    waited: Optional[timedelta]
    cause: Optional[str]
    client: Optional[int]
    client_name: Optional[str]
    by: Optional[str]
    """The command, or the digest of the script."""
    fault: Optional[str]
    """What a fault did."""
    text: Optional[str] = None
    """The line of a mark."""
    clock: Optional[Tuple[int, int]] = None
    """The clock before and after it was moved, in milliseconds."""
    permits: Optional[Tuple[int, int]] = None
    """How many permits of a semaphore are left, and how many are held."""


@dataclass(frozen=True)
class Entries:
    """What the history has of what was asked for."""

    first: int
    """The oldest number that it still has."""
    last: int
    """Its newest number."""
    truncated: bool
    """Whether older entries had to go."""
    entries: Tuple[Entry, ...]


@dataclass(frozen=True)
class Finding:
    """Something wrong in the history."""

    level: str
    """`violation`, `suspect` or `lint`."""
    invariant: str
    key: str
    seqs: Tuple[int, ...]
    """The entries that show it."""
    owners: Tuple[str, ...]
    evidence: Tuple[str, ...]
    """The same in words."""
    text: str


@dataclass(frozen=True)
class Verdict:
    """What the server finds in the history."""

    verdict: str
    """`ok`, `suspect`, `violated`, or `inconclusive` where the history is not whole: `reason` says why."""
    events: int
    truncated: bool
    findings: Tuple[Finding, ...]
    reason: Optional[str] = None
    """Why the history is not whole; None: it is."""

    left_out: int = 0
    """How many findings there are beside these."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found, in a history that is whole."""
        return not self.findings and self.verdict != "inconclusive"


def entries(key: Optional[str], owner: Optional[str], since: Optional[int], count: Optional[int]) -> Request[Entries]:
    """LOCK.HISTORY."""
    return Request(asked(key, owner, since, count), history)


def formatted(
    form: str, key: Optional[str], owner: Optional[str], since: Optional[int], count: Optional[int]
) -> Request[str]:
    """LOCK.HISTORY as a text."""
    return Request((*asked(key, owner, since, count), "FORMAT", form), text)


def asked(
    key: Optional[str], owner: Optional[str], since: Optional[int], count: Optional[int]
) -> Tuple[Argument, ...]:
    """LOCK.HISTORY with its filters."""
    return ("LOCK.HISTORY", *named({"KEY": key, "OWNER": owner, "SINCE": since, "COUNT": count}))


def history(reply: Reply) -> Entries:
    """What LOCK.HISTORY answers."""
    fields = pairs(reply)
    return Entries(
        first=number(fields["first"]),
        last=number(fields["last"]),
        truncated=bool(fields["truncated"]),
        entries=tuple(entry(pairs(each)) for each in items(fields["entries"])),
    )


def entry(fields: Dict[Hashable, Reply]) -> Entry:
    """One of its entries."""

    def field(name: str, read: Callable[[Reply], T]) -> Optional[T]:
        return maybe(fields.get(name), read)

    def both(one: str, other: str) -> Optional[Tuple[int, int]]:
        first, second = field(one, number), field(other, number)
        return None if first is None or second is None else (first, second)

    return Entry(
        seq=number(fields["seq"]),
        wall=at(fields["wall"]),
        monotonic=span(fields["monotonic"]),
        event=text(fields["event"]),
        db=field("db", number),
        key=field("key", text),
        kind=field("kind", text),
        mode=field("mode", text),
        owner=field("owner", text),
        grant=field("grant", number),
        holds=field("holds", number),
        ttl=field("ttl", span),
        waited=field("waited", span),
        cause=field("cause", text),
        client=field("client", number),
        client_name=field("clientname", text),
        by=field("by", text),
        fault=field("fault", text),
        text=field("text", text),
        clock=both("from", "to"),
        permits=both("left", "held"),
    )


def verify(key: Optional[str], level: Optional[str]) -> Request[Verdict]:
    """LOCK.VERIFY."""
    if level is not None and not isinstance(level, str):
        raise TypeError(f"level is a word such as 'violation', not {level!r}")
    return Request(("LOCK.VERIFY", *named({"KEY": key, "LEVEL": level and level.upper()})), verdict)


def verdict(reply: Reply) -> Verdict:
    """What LOCK.VERIFY answers."""
    fields = pairs(reply)
    return Verdict(
        verdict=text(fields["verdict"]),
        events=number(fields["events"]),
        truncated=bool(fields["truncated"]),
        findings=tuple(finding(pairs(each)) for each in items(fields["findings"])),
        reason=maybe(fields.get("reason"), text),
        left_out=maybe(fields.get("left-out"), number) or 0,
    )


def finding(fields: Dict[Hashable, Reply]) -> Finding:
    """One of its findings."""
    return Finding(
        level=text(fields["level"]),
        invariant=text(fields["invariant"]),
        key=text(fields["key"]),
        seqs=tuple(map(number, items(fields["seqs"]))),
        owners=tuple(map(text, items(fields["owners"]))),
        evidence=tuple(map(text, items(fields["evidence"]))),
        text=text(fields["text"]),
    )


def verdict_lines(told: Verdict) -> List[str]:
    """A verdict as a report shows it: the findings, or that there are none."""
    verdict = f"{told.verdict}: {told.reason}" if told.reason else told.verdict
    return (lines(told.findings) or [verdict]) + ([f"and {told.left_out} more"] if told.left_out else [])


def lines(findings: Sequence[Finding]) -> List[str]:
    """Findings as a report shows them."""
    return [f"{it.level} {it.invariant}{f' of {it.key}' if it.key else ''}: {it.text}" for it in findings]


def mark(line: str) -> Request[None]:
    """LOCK.MARK."""
    return Request(("LOCK.MARK", line), done)


def observe(pattern: str) -> Request[None]:
    """LOCK.OBSERVE."""
    return Request(("LOCK.OBSERVE", pattern), done)


def unobserve(pattern: str) -> Request[None]:
    """LOCK.OBSERVE DEL."""
    return Request(("LOCK.OBSERVE", "DEL", pattern), done)


def enter(key: str, owner: str, token: Optional[int]) -> Request[None]:
    """LOCK.ENTER."""
    return Request(("LOCK.ENTER", key, owner, *named({"TOKEN": token})), done)


def leave(key: str, owner: str) -> Request[bool]:
    """LOCK.LEAVE."""
    return Request(("LOCK.LEAVE", key, owner), lambda reply: reply == 1)
