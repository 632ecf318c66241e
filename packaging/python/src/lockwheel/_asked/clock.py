"""What is asked of a server's clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import List, Optional, Tuple, Union

from .._resp import Argument, Reply, pairs
from . import Duration, Request, at, maybe, milliseconds, number, span, within

__tracebackhide__ = True


@dataclass(frozen=True)
class Info:
    """Where a server's clock stands."""

    mode: str
    """`real` or `manual`."""
    wall: datetime
    monotonic: timedelta
    offset: timedelta
    """The wall clock minus the system's time."""
    next: Optional[timedelta]
    """Until the next deadline on either hand; None: there is none."""
    timers: int


@dataclass(frozen=True)
class Turn:
    """The effects of one advance of the clock."""

    wall: datetime
    """Where the wall clock stands."""
    fired: int
    """How many deadlines have fired."""
    settled: Optional[bool]
    """Whether the clients fell silent within the limit; None: that was not asked for."""
    what: Tuple[Tuple[str, Union[str, int]], ...]
    """What has fired, for `next`: its kind, and its key or the id of its client."""


def hand(verb: str, *arguments: Argument) -> Request[datetime]:
    """What answers where the wall clock stands."""
    return Request((f"CLOCK.{verb}", *arguments), at)


def advance(by: Duration, settle: Optional[Duration], limit: Optional[Duration], nowake: bool) -> Request[Turn]:
    """CLOCK.ADVANCE."""
    return Request(("CLOCK.ADVANCE", milliseconds(by), *turning(settle, limit, nowake)), turn)


def next_deadline(
    count: int, settle: Optional[Duration], limit: Optional[Duration], nowake: bool
) -> Request[Optional[Turn]]:
    """CLOCK.NEXT."""
    arguments = ("CLOCK.NEXT", "COUNT", count, *turning(settle, limit, nowake))
    return Request(arguments, lambda reply: maybe(reply, turn))


def turning(settle: Optional[Duration], limit: Optional[Duration], nowake: bool) -> List[Argument]:
    """The options of an advance."""
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
        return Info(
            mode=str(fields["mode"]),
            wall=at(fields["wall"]),
            monotonic=span(fields["monotonic"]),
            offset=span(fields["offset"]),
            next=maybe(fields["next"], span),
            timers=number(fields["timers"]),
        )

    return Request(("CLOCK.INFO",), read)
