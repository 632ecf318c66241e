"""The clock of a server, for asyncio."""

from __future__ import annotations

from datetime import datetime
from typing import Optional

from .._asked import AskAsync, Duration, clock, milliseconds, since_epoch
from .._asked.clock import Info, Turn
from .._options import refuses_unknown_options

__tracebackhide__ = True


@refuses_unknown_options
class Clock:
    """Turns the two clocks of a server: the wall clock, on which keys expire, and the monotonic one, on which
    blocked clients wait. Durations are `timedelta` or seconds, of whole milliseconds; instants have a time zone."""

    def __init__(self, ask: AskAsync) -> None:
        self._ask = ask

    async def freeze(self) -> datetime:
        """Both clocks stand still. Answers, as the next four do, where the wall clock stands."""
        return await self._ask(clock.hand("FREEZE"))

    async def resume(self) -> datetime:
        """Both clocks run from where they stand."""
        return await self._ask(clock.hand("RESUME"))

    async def reset(self) -> datetime:
        """The wall clock is the system's time again; both clocks run."""
        return await self._ask(clock.hand("RESET"))

    async def step(self, by: Duration) -> datetime:
        """Moves the wall clock alone, back too: a clock that jumps."""
        return await self._ask(clock.hand("STEP", milliseconds(by)))

    async def set(self, to: datetime) -> datetime:
        """Moves the wall clock alone to an instant."""
        return await self._ask(clock.hand("SET", since_epoch(to)))

    async def advance(
        self,
        by: Duration,
        *,
        settle: Optional[Duration] = None,
        limit: Optional[Duration] = None,
        nowake: bool = False,
    ) -> Turn:
        """Moves both clocks. Every deadline on the way fires at its own instant before this returns.

        With `settle` it goes on after each instant only when no command has come for so long in real time, in all at
        most `limit` (five seconds): clients react at the instant they were told at. With `nowake` Redisson's waiters
        are not told of leases that end.
        """
        return await self._ask(clock.advance(by, settle, limit, nowake))

    async def next(
        self,
        count: int = 1,
        *,
        settle: Optional[Duration] = None,
        limit: Optional[Duration] = None,
        nowake: bool = False,
    ) -> Optional[Turn]:
        """Moves both clocks to the next deadline, `count` times, and fires what is due there; None: there is none."""
        return await self._ask(clock.next_deadline(count, settle, limit, nowake))

    async def info(self) -> Info:
        """Where the clock stands."""
        return await self._ask(clock.info())
