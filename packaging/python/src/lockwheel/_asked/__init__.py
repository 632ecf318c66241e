"""What is asked of a server, and how its replies are read; the blocking and the asynchronous server send the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Awaitable, Callable, Generic, List, Mapping, Optional, Protocol, Tuple, TypeVar, Union

from .._resp import Argument, Reply

__tracebackhide__ = True

T = TypeVar("T")
Duration = Union[timedelta, int, float]
"""A `timedelta`, or seconds; whole milliseconds."""

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request, and what its reply means."""

    arguments: Tuple[Argument, ...]
    read: Callable[[Reply], T]
    avoid: Optional[int] = None
    """The place of the server that is asked last."""
    is_wait: bool = False
    """Whether it only waits: it may be asked again when its server was killed."""


class Ask(Protocol):
    """Asks, and waits for the reply."""

    def __call__(self, request: Request[T]) -> T: ...


class AskAsync(Protocol):
    """Asks; the reply is awaited."""

    def __call__(self, request: Request[T]) -> Awaitable[T]: ...


def milliseconds(duration: Duration) -> int:
    """Whole milliseconds; ValueError for what is not, TypeError for what is no duration."""
    if isinstance(duration, timedelta):
        whole, rest = divmod(duration, MILLISECOND)
        if rest:
            raise ValueError(f"{duration!r}: not whole milliseconds")
        return whole
    if not isinstance(duration, (int, float)):
        raise TypeError(f"a duration is seconds or a timedelta, not {duration!r}")
    exact = duration * 1000
    if not math.isfinite(exact):
        raise ValueError(f"{duration!r} s: not whole milliseconds")
    # The sum of two floats, such as 0.1 + 0.2, is close to whole milliseconds.
    if abs(exact - round(exact)) > min(1e-3, 1e-9 * abs(exact)):
        raise ValueError(f"{duration!r} s: not whole milliseconds")
    return round(exact)


def since_epoch(instant: datetime) -> int:
    """Milliseconds since the epoch; ValueError for an instant without time zone, or finer than milliseconds; TypeError
    for what is no instant."""
    if not isinstance(instant, datetime):
        raise TypeError(f"an instant is a datetime with a time zone, not {instant!r}")
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


def text(reply: Reply) -> str:
    """A string."""
    if isinstance(reply, str):
        return reply
    raise TypeError(f"not a string: {reply!r}")


def maybe(reply: Reply, read: Callable[[Reply], T]) -> Optional[T]:
    """What may be null."""
    return None if reply is None else read(reply)


def items(reply: Reply) -> List[Reply]:
    """The elements of an array."""
    if isinstance(reply, list):
        return reply
    raise TypeError(f"not an array: {reply!r}")


def done(reply: Reply) -> None:
    """A reply that says no more than that it is done."""


def named(options: Mapping[str, Optional[Argument]]) -> List[Argument]:
    """Options as words, each behind its name, without those that are None."""
    return [word for name, value in options.items() if value is not None for word in (name, value)]


def within(limit: Optional[Duration]) -> List[Argument]:
    """A limit of real time; without one the server has its own, five seconds."""
    return [] if limit is None else ["LIMIT", milliseconds(limit)]
