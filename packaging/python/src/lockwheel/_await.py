"""Waiting for states of a server instead of sleeping, for tests that block."""

from __future__ import annotations

from typing import Callable, Optional

from ._asked import Ask, Duration, Request, awaits
from ._options import refuses_unknown_options

__tracebackhide__ = True


@refuses_unknown_options
class Await:
    """Waits for a state instead of sleeping. When the limit passes first, five seconds of real time unless told, it
    raises AwaitTimeoutError, with the server's report. Counts mean at least so many; with `exact` just so many, and
    with `atmost` no more."""

    def __init__(self, ask: Ask, report: Callable[[], str]) -> None:
        self._ask = ask
        self._report = report

    def blocked(
        self,
        count: int,
        *,
        key: Optional[str] = None,
        exact: bool = False,
        atmost: bool = False,
        limit: Optional[Duration] = None,
    ) -> None:
        """So many clients are blocked, on this key if one is given."""
        self._until(awaits.blocked(count, key, exact, atmost, limit))

    def waiters(
        self, key: str, count: int, *, exact: bool = False, atmost: bool = False, limit: Optional[Duration] = None
    ) -> None:
        """So many clients wait for a lock, in the server or subscribed to its Redisson channels."""
        self._until(awaits.waiters(key, count, exact, atmost, limit))

    def subscribers(
        self, channel: str, count: int, *, exact: bool = False, atmost: bool = False, limit: Optional[Duration] = None
    ) -> None:
        """A channel has so many subscribers."""
        self._until(awaits.subscribers(channel, count, exact, atmost, limit))

    def clients(
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
        self._until(awaits.clients(count, name, exact, atmost, limit))

    def key(self, key: str, state: str, *, limit: Optional[Duration] = None) -> None:
        """A key is in a state: `EXISTS`, `GONE`, or of a type, as TYPE names it."""
        self._until(awaits.key_state(key, state, limit))

    def calls(self, command: str, count: int, *, key: Optional[str] = None, limit: Optional[Duration] = None) -> None:
        """A command was executed so often, on keys like this if one is given."""
        self._until(awaits.calls(command, count, key, limit))

    def idle(self, quiet: Duration, *, name: Optional[str] = None, limit: Optional[Duration] = None) -> None:
        """No client has sent a command for so long, in real time; with `name`, none with a name like this."""
        self._until(awaits.idle(quiet, name, limit))

    def event(
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
        return self._until(awaits.event(event, key, owner, since, count, limit))

    def fault(self, name: str, count: int = 1, *, limit: Optional[Duration] = None) -> None:
        """A rule has acted so often."""
        self._until(awaits.fault(name, count, limit))

    def held(self, name: str, count: int = 1, *, limit: Optional[Duration] = None) -> None:
        """A rule holds so many requests or replies."""
        self._until(awaits.held(name, count, limit))

    def _until(self, request: Request[Optional[int]]) -> int:
        reply = self._ask(request)
        if reply is None:
            raise awaits.not_in_time(request, self._report())
        return reply
