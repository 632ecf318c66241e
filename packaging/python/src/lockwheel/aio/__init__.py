"""The server for asyncio. What its methods do is said in `lockwheel.Server`, `lockwheel.Clock`, `lockwheel.Await`,
`lockwheel.Faults` and `lockwheel.History`.

    async with lockwheel.aio.Server() as server:
        client = redis.asyncio.Redis.from_url(server.url)
        await server.clock.advance(30, settle=0.01)
"""

from ._await import Await
from ._clock import Clock
from ._faults import Faults
from ._history import History
from ._server import Server

__all__ = ["Await", "Clock", "Faults", "History", "Server"]
