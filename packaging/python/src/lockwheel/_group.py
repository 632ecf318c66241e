"""The base of the generated groups of methods, for tests that block."""

from __future__ import annotations

from typing import Callable, Optional

from ._errors import AwaitTimeoutError
from ._resp import Reply
from ._words import Part, Request, T, maybe, number, words

__tracebackhide__ = True


class Steering:
    """A server that methods steer."""

    def _send(self, request: Request[T]) -> T:
        """Sends a request."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Opens connections that stay: after a partition or a restart the server lets no new ones in."""
        raise NotImplementedError

    def _set_exempt(self, is_exempt: bool) -> None:
        """Sets whether rules ignore the server's own commands."""
        raise NotImplementedError

    def report(self) -> str:
        """What the server knows, for a test that has failed."""
        raise NotImplementedError


class Group:
    """Methods that steer a server."""

    _is_own = False
    """Whether the requests are a test's own commands, so that faults meet them."""

    def __init__(self, server: Steering) -> None:
        self._server = server

    def _ask(
        self, read: Callable[[Reply], T], *parts: Part, avoid: Optional[int] = None, prepares: bool = False
    ) -> T:
        if prepares:
            self._server._prepare()
        return self._server._send(Request(words(parts), read, avoid, is_own=self._is_own))

    def _until(self, *parts: Part) -> int:
        request = Request(words(parts), lambda reply: maybe(reply, number), is_wait=True)
        reply = self._server._send(request)
        if reply is None:
            raise not_in_time(request, self._server.report())
        return reply


class FaultGroup(Group):
    """The methods of faults that are no requests."""

    def exempt(self, exempt: bool = True) -> None:
        """Sets whether rules ignore the requests of `Server.command`. By default they do."""
        self._server._set_exempt(exempt)


def not_in_time(request: Request[T], report: str) -> AwaitTimeoutError:
    """The error of a wait whose state did not come, with the server's report."""
    return AwaitTimeoutError(f"{' '.join(map(str, request.arguments))}: not within the limit\n{report}")
