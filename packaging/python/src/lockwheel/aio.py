"""The server for asyncio. What its methods do is said in `lockwheel.Server`, `lockwheel.Clock` and `lockwheel.Await`.

    async with lockwheel.aio.Server() as server:
        client = redis.asyncio.Redis.from_url(server.url)
        await server.clock.advance(30, settle=0.01)
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from types import TracebackType
from typing import Generator, Optional, Sequence, Type, TypeVar, Union

from . import _requests
from ._process import Process
from ._requests import Duration, Info, Request, Turn
from ._resp import Argument, Reply
from ._running import Running
from ._server import Server as BlockingServer

__all__ = ["Await", "Clock", "Server"]

T = TypeVar("T")


class Server(Running):
    """As `lockwheel.Server`, but it starts when it is awaited, or entered by `async with`."""

    def __init__(
        self,
        *,
        time: Union[str, datetime] = "real",
        seed: int = 0,
        args: Sequence[str] = (),
        binary: Optional[str] = None,
    ) -> None:
        def start() -> BlockingServer:
            return BlockingServer(time=time, seed=seed, args=args, binary=binary)

        self._start = start
        self._started: Optional[BlockingServer] = None
        self.clock = Clock(self)
        """Turns the server's clock."""
        self.await_ = Await(self)
        """Waits for states instead of sleeping."""

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
        """Any command. ServerError: the server has refused it."""
        return await self.blocking._connections.ask_async(arguments)

    async def reset(self) -> None:
        """Makes the server as it was at its start. Connections of clients are cut."""
        self.blocking._connections.close()
        await self.command("CONTROL.RESET")

    async def stop(self) -> None:
        """Ends the server and waits for that. A second call does nothing."""
        if self._started is not None:
            await asyncio.to_thread(self._started.stop)

    async def report(self) -> str:
        """What the server knows, for a test that has failed."""
        return await asyncio.to_thread(self.blocking.report)

    async def _ask(self, request: Request[T]) -> T:
        return request.read(await self.command(*request.arguments))

    async def _begin(self) -> Server:
        if self._started is None:
            self._started = await asyncio.to_thread(self._start)
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


class Clock:
    """Turns the hands of a server's clock."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def freeze(self) -> datetime:
        """Both hands stand still."""
        return await self._server._ask(_requests.hand("FREEZE"))

    async def resume(self) -> datetime:
        """Both hands run from where they stand."""
        return await self._server._ask(_requests.hand("RESUME"))

    async def reset(self) -> datetime:
        """The wall hand is the system's time again; both hands run."""
        return await self._server._ask(_requests.hand("RESET"))

    async def step(self, by: Duration) -> datetime:
        """Moves the wall hand alone, back too: a clock that jumps."""
        return await self._server._ask(_requests.hand("STEP", _requests.milliseconds(by)))

    async def set(self, to: datetime) -> datetime:
        """Moves the wall hand alone to an instant."""
        return await self._server._ask(_requests.hand("SET", _requests.since_epoch(to)))

    async def advance(
        self,
        by: Duration,
        *,
        settle: Optional[Duration] = None,
        limit: Optional[Duration] = None,
        nowake: bool = False,
    ) -> Turn:
        """Moves both hands; every deadline on the way fires at its own instant."""
        return await self._server._ask(_requests.advance(by, settle, limit, nowake))

    async def next(
        self,
        count: int = 1,
        *,
        settle: Optional[Duration] = None,
        limit: Optional[Duration] = None,
        nowake: bool = False,
    ) -> Optional[Turn]:
        """Moves both hands to the next deadline, `count` times; None: there is none."""
        return await self._server._ask(_requests.next_deadline(count, settle, limit, nowake))

    async def info(self) -> Info:
        """Where the clock stands."""
        return await self._server._ask(_requests.info())


class Await:
    """Waits for a state instead of sleeping, or raises AwaitTimeoutError."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def blocked(self, count: int, *, key: Optional[str] = None, limit: Optional[Duration] = None) -> None:
        """So many clients are blocked, on this key if one is given."""
        await self._until(_requests.blocked(count, key, limit))

    async def waiters(self, key: str, count: int, *, limit: Optional[Duration] = None) -> None:
        """So many clients wait for a lock, in the server or subscribed to its Redisson channels."""
        await self._until(_requests.waiters(key, count, limit))

    async def subscribers(self, channel: str, count: int, *, limit: Optional[Duration] = None) -> None:
        """A channel has so many subscribers."""
        await self._until(_requests.subscribers(channel, count, limit))

    async def key(self, key: str, state: str, *, limit: Optional[Duration] = None) -> None:
        """A key is in a state: `EXISTS`, `GONE`, or of a type, as TYPE names it."""
        await self._until(_requests.key_state(key, state, limit))

    async def _until(self, request: Request[bool]) -> None:
        if not await self._server._ask(request):
            raise _requests.not_in_time(request, await self._server.report())
