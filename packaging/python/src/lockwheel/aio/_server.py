"""The server, for asyncio."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Generator, Optional, Type

from .._options import refuses_unknown_options
from .._process import Process
from .._resp import Argument, Reply, refuse_unanswered
from .._running import Running
from .._server import Server as BlockingServer
from .._server_options import ServerOptions
from .._words import Request, T
from ._methods import ServerMethods

if TYPE_CHECKING:
    from typing_extensions import Unpack

__tracebackhide__ = True


@refuses_unknown_options
class Server(Running, ServerMethods):
    """As `lockwheel.Server`, but it starts when it is awaited, or entered by `async with`."""

    def __init__(self, **given: Unpack[ServerOptions]) -> None:
        ServerMethods.__init__(self)
        self._given = given
        self._started: Optional[BlockingServer] = None

    @classmethod
    def of(cls, server: BlockingServer) -> Server:
        """The same server, for asyncio."""
        it = cls()
        it._started = server
        return it

    @property
    def blocking(self) -> BlockingServer:
        """The same server, for code that blocks. RuntimeError: it has not started."""
        if self._started is None:
            raise RuntimeError("the server has not started: await it, or enter it by `async with`")
        return self._started

    @property
    def _process(self) -> Process:
        return self.blocking._process

    @property
    def is_running(self) -> bool:
        """Whether its process has started and not ended."""
        return self._started is not None and self._started.is_running

    async def command(self, *arguments: Argument) -> Reply:
        """Any command. ServerError: the server has refused it. ValueError: it has no name, or no reply (CLIENT REPLY OFF
        and SKIP)."""
        refuse_unanswered(arguments)
        try:
            return await self.blocking._connections.ask_async(arguments)
        except OSError as error:
            raise self._process.reason(error) from None

    async def reset(self, *, keep_clients: bool = False) -> None:
        """Makes the server as it was at its start. Connections of clients are cut, unless they are to be kept."""
        await asyncio.to_thread(self.blocking.reset, keep_clients=keep_clients)

    async def check(self, *, level: Optional[str] = None) -> None:
        """FindingsError: there are findings from this level on, or from the one that the server was started with
        (`verify`); or there are none, and the history is not whole."""
        await asyncio.to_thread(self.blocking.check, level=level)

    async def stop(self) -> None:
        """Ends the server and waits for that. A second call does nothing."""
        if self._started is not None:
            await asyncio.to_thread(self._started.stop)

    async def report(self) -> str:
        """What the server knows, for a test that has failed."""
        return await asyncio.to_thread(self.blocking.report)

    async def _send(self, request: Request[T]) -> T:
        try:
            server = self.blocking
            return await (server._connections if request.is_own else server._steering).steer_async(request)
        except OSError as error:
            raise self._process.reason(error) from None

    def _set_exempt(self, is_exempt: bool) -> None:
        self.blocking._connections.set_exempt(is_exempt)

    async def _prepare(self) -> None:
        await asyncio.to_thread(self.blocking._prepare)

    async def _begin(self) -> Server:
        if self._started is None:
            self._started = await asyncio.to_thread(BlockingServer, **self._given)
        return self

    def __await__(self) -> Generator[None, None, Server]:
        return self._begin().__await__()

    async def __aenter__(self) -> Server:
        return await self._begin()

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await asyncio.to_thread(self.blocking.__exit__, kind, error, trace)

    def __repr__(self) -> str:
        return f"<lockwheel.aio.Server {self.url if self._started else 'not started'}>"
