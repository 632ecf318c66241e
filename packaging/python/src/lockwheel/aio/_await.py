"""Waiting for states of a server instead of sleeping, for asyncio."""

from __future__ import annotations

from typing import Awaitable, Callable, Optional

from .._asked import AskAsync, Duration, Request, awaits
from .._options import refuses_unknown_options

__tracebackhide__ = True


@refuses_unknown_options
class Await:
    """Waits for a state instead of sleeping. When the limit passes first, five seconds of real time unless told, it
    raises AwaitTimeoutError, with the server's report. Counts mean at least so many; with `exact` just so many, and
    with `atmost` no more."""

    def __init__(self, ask: AskAsync, report: Callable[[], Awaitable[str]]) -> None:
        self._ask = ask
        self._report = report

    async def blocked(
        self,
        count: int,
        *,
        key: Optional[str] = None,
        exact: bool = False,
        atmost: bool = False,
        limit: Optional[Duration] = None,
    ) -> None:
        """So many clients are blocked, on this key if one is given."""
        await self._until(awaits.blocked(count, key, exact, atmost, limit))

    async def waiters(
        self, key: str, count: int, *, exact: bool = False, atmost: bool = False, limit: Optional[Duration] = None
    ) -> None:
        """So many clients wait for a lock, in the server or subscribed to its Redisson channels."""
        await self._until(awaits.waiters(key, count, exact, atmost, limit))

    async def subscribers(
        self, channel: str, count: int, *, exact: bool = False, atmost: bool = False, limit: Optional[Duration] = None
    ) -> None:
        """A channel has so many subscribers."""
        await self._until(awaits.subscribers(channel, count, exact, atmost, limit))

    async def clients(
        self,
        count: int,
        *,
        name: Optional[str] = None,
        exact: bool = False,
        atmost: bool = False,
        limit: Optional[Duration] = None,
    ) -> None:
        """So many clients are connected, the package's own connections among them; with `name`, so many with a name
        like this."""
        await self._until(awaits.clients(count, name, exact, atmost, limit))

    async def key(self, key: str, state: str, *, limit: Optional[Duration] = None) -> None:
        """A key is in a state: `EXISTS`, `GONE`, or of a type, as TYPE names it."""
        await self._until(awaits.key_state(key, state, limit))

    async def calls(self, command: str, count: int, *, key: Optional[str] = None, limit: Optional[Duration] = None) -> None:
        """A command was executed so often, on keys like this if one is given."""
        await self._until(awaits.calls(command, count, key, limit))

    async def idle(self, quiet: Duration, *, name: Optional[str] = None, limit: Optional[Duration] = None) -> None:
        """No client has sent a command for so long, in real time; with `name`, none with a name like this."""
        await self._until(awaits.idle(quiet, name, limit))

    async def event(
        self,
        event: str,
        *,
        key: Optional[str] = None,
        owner: Optional[str] = None,
        since: Optional[int] = None,
        count: Optional[int] = None,
        limit: Optional[Duration] = None,
    ) -> int:
        """The history has this event, `count` times, after the entry `since`. Answers the number of its entry."""
        return await self._until(awaits.event(event, key, owner, since, count, limit))

    async def fault(self, name: str, count: int = 1, *, limit: Optional[Duration] = None) -> None:
        """A rule has acted so often."""
        await self._until(awaits.fault(name, count, limit))

    async def held(self, name: str, count: int = 1, *, limit: Optional[Duration] = None) -> None:
        """A rule holds so many requests or replies."""
        await self._until(awaits.held(name, count, limit))

    async def _until(self, request: Request[Optional[int]]) -> int:
        reply = await self._ask(request)
        if reply is None:
            raise awaits.not_in_time(request, await self._report())
        return reply
