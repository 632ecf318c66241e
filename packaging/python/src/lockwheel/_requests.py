"""What is asked of a server, and how its replies are read; the blocking and the asynchronous server send the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Callable, Generic, List, Optional, Tuple, TypeVar, Union

from ._errors import AwaitTimeoutError
from ._resp import Argument, Reply, pairs

T = TypeVar("T")
Duration = Union[timedelta, int, float]
"""A `timedelta`, or seconds; whole milliseconds."""

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Info:
    """Where a server's clock stands."""

    mode: str
    """`real` or `manual`."""
    wall: datetime
    monotonic: timedelta
    offset: timedelta
    """The wall hand minus the system's time."""
    next: Optional[timedelta]
    """Until the next deadline on either hand; None: there is none."""
    timers: int


@dataclass(frozen=True)
class Turn:
    """What a turn of the clock did."""

    wall: datetime
    """Where the wall hand stands."""
    fired: int
    """How many deadlines have fired."""
    settled: Optional[bool]
    """Whether the clients fell silent within the limit; None: that was not asked for."""
    what: Tuple[Tuple[str, Union[str, int]], ...]
    """What has fired, for `next`: its kind, and its key or the id of its client."""


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request, and what its reply means."""

    arguments: Tuple[Argument, ...]
    read: Callable[[Reply], T]


def milliseconds(duration: Duration) -> int:
    """Whole milliseconds; ValueError for what is not."""
    if isinstance(duration, timedelta):
        whole, rest = divmod(duration, MILLISECOND)
        if rest:
            raise ValueError(f"{duration!r}: not whole milliseconds")
        return whole
    exact = duration * 1000
    if abs(exact - round(exact)) > 1e-3:
        raise ValueError(f"{duration!r} s: not whole milliseconds")
    return round(exact)


def since_epoch(instant: datetime) -> int:
    """Milliseconds since the epoch; ValueError for an instant without time zone, or finer than milliseconds."""
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r}: without a time zone this is no instant")
    return milliseconds(instant - EPOCH)


def at(reply: Reply) -> datetime:
    """An instant in UTC."""
    return EPOCH + number(reply) * MILLISECOND


def span(reply: Reply) -> timedelta:
    """A duration."""
    return number(reply) * MILLISECOND


def number(reply: Reply) -> int:
    """An integer."""
    if isinstance(reply, int):
        return reply
    raise TypeError(f"not an integer: {reply!r}")


def hand(verb: str, *arguments: Argument) -> Request[datetime]:
    """What answers where the wall hand stands."""
    return Request((f"CLOCK.{verb}", *arguments), at)


def advance(by: Duration, settle: Optional[Duration], limit: Optional[Duration], nowake: bool) -> Request[Turn]:
    """CLOCK.ADVANCE."""
    return Request(("CLOCK.ADVANCE", milliseconds(by), *turning(settle, limit, nowake)), turn)


def next_deadline(
    count: int, settle: Optional[Duration], limit: Optional[Duration], nowake: bool
) -> Request[Optional[Turn]]:
    """CLOCK.NEXT."""

    def read(reply: Reply) -> Optional[Turn]:
        return None if reply is None else turn(reply)

    return Request(("CLOCK.NEXT", "COUNT", count, *turning(settle, limit, nowake)), read)


def turning(settle: Optional[Duration], limit: Optional[Duration], nowake: bool) -> List[Argument]:
    """The options of a turn."""
    options: List[Argument] = ["NOWAKE"] if nowake else []
    if settle is not None:
        options += ["SETTLE", milliseconds(settle), *within(limit)]
    elif limit is not None:
        raise ValueError("a limit is one for settle")
    return options


def turn(reply: Reply) -> Turn:
    """What CLOCK.ADVANCE and CLOCK.NEXT answer."""
    fields = pairs(reply)
    settled, what = fields.get("settled"), fields.get("what")
    return Turn(
        wall=at(fields["wall"]),
        fired=number(fields["fired"]),
        settled=None if settled is None else bool(settled),
        what=tuple(deadline(entry) for entry in what) if isinstance(what, list) else (),
    )


def deadline(reply: Reply) -> Tuple[str, Union[str, int]]:
    """A deadline's kind, and its key or client."""
    kind, whose = reply if isinstance(reply, list) else (reply, "")
    return str(kind), whose if isinstance(whose, int) else str(whose)


def info() -> Request[Info]:
    """CLOCK.INFO."""

    def read(reply: Reply) -> Info:
        fields = pairs(reply)
        ahead = fields["next"]
        return Info(
            mode=str(fields["mode"]),
            wall=at(fields["wall"]),
            monotonic=span(fields["monotonic"]),
            offset=span(fields["offset"]),
            next=None if ahead is None else span(ahead),
            timers=number(fields["timers"]),
        )

    return Request(("CLOCK.INFO",), read)


def blocked(count: int, key: Optional[str], limit: Optional[Duration]) -> Request[bool]:
    """AWAIT.BLOCKED."""
    of_key: List[Argument] = [] if key is None else ["KEY", key]
    return awaited("BLOCKED", count, *of_key, *within(limit))


def waiters(key: str, count: int, limit: Optional[Duration]) -> Request[bool]:
    """AWAIT.WAITERS."""
    return awaited("WAITERS", key, count, *within(limit))


def subscribers(channel: str, count: int, limit: Optional[Duration]) -> Request[bool]:
    """AWAIT.SUBSCRIBERS."""
    return awaited("SUBSCRIBERS", channel, count, *within(limit))


def key_state(key: str, state: str, limit: Optional[Duration]) -> Request[bool]:
    """AWAIT.KEY; the state is EXISTS, GONE or a type, as TYPE names it."""
    wanted: List[Argument] = [state] if state.upper() in ("EXISTS", "GONE") else ["TYPE", state]
    return awaited("KEY", key, *wanted, *within(limit))


def awaited(verb: str, *arguments: Argument) -> Request[bool]:
    """What answers 1 when the state is there, and null at the limit."""
    return Request((f"AWAIT.{verb}", *arguments), lambda reply: reply is not None)


def within(limit: Optional[Duration]) -> List[Argument]:
    """A limit of real time; without one the server has its own, five seconds."""
    return [] if limit is None else ["LIMIT", milliseconds(limit)]


def not_in_time(request: Request[T], report: str) -> AwaitTimeoutError:
    """What is raised when a state did not come, with the server's report."""
    return AwaitTimeoutError(f"{' '.join(map(str, request.arguments))}: not within the limit\n{report}")
