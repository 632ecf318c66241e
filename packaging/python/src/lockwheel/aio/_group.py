"""The base of the generated groups of methods, for asyncio."""

from __future__ import annotations

from typing import Callable, Optional

from .._group import not_in_time
from .._resp import Reply
from .._words import Part, Request, T, maybe, number, words

__tracebackhide__ = True


class Steering:
    """A server that methods steer: see `lockwheel._group`."""

    async def _send(self, request: Request[T]) -> T:
        raise NotImplementedError

    async def _prepare(self) -> None:
        raise NotImplementedError

    def _set_exempt(self, is_exempt: bool) -> None:
        raise NotImplementedError

    async def report(self) -> str:
        """What the server knows, for a test that has failed."""
        raise NotImplementedError


class Group:
    """Methods that steer a server."""

    _is_own = False

    def __init__(self, server: Steering) -> None:
        self._server = server

    async def _ask(
        self, read: Callable[[Reply], T], *parts: Part, avoid: Optional[int] = None, prepares: bool = False
    ) -> T:
        if prepares:
            await self._server._prepare()
        return await self._server._send(Request(words(parts), read, avoid, is_own=self._is_own))

    async def _until(self, *parts: Part) -> int:
        request = Request(words(parts), lambda reply: maybe(reply, number), is_wait=True)
        reply = await self._server._send(request)
        if reply is None:
            raise not_in_time(request, await self._server.report())
        return reply


class FaultGroup(Group):
    """The methods of faults that are no requests."""

    async def exempt(self, exempt: bool = True) -> None:
        """Sets whether rules ignore the requests of `Server.command`. By default they do."""
        self._server._set_exempt(exempt)
