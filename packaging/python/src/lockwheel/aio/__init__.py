"""The server for asyncio. The classes of the same names in `lockwheel` describe the parameters of its
methods.

    async with lockwheel.aio.Server() as server:
        client = redis.asyncio.Redis.from_url(server.url)
        await server.clock.advance(30, settle=0.01)
"""

from ._methods import Await, Clock, Faults, History, Latches, Locks, Rates, Semaphores
from ._server import Server

__all__ = ["Await", "Clock", "Faults", "History", "Latches", "Locks", "Rates", "Semaphores", "Server"]
