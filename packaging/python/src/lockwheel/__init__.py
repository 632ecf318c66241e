"""A Redis-compatible server for tests, with a clock that a test turns.

    with lockwheel.Server() as server:
        client = redis.Redis.from_url(server.url)
        server.clock.advance(30)  # leases end, no sleep

`lockwheel.aio` is the same for asyncio; pytest has the fixtures `lockwheel` and `lockwheel_aio`.
"""

from . import aio
from ._binary import NoBinaryError
from ._errors import AwaitTimeoutError, LockwheelError, ServerError, StartError
from ._requests import Duration, Info, Turn
from ._resp import Argument, Reply
from ._server import Await, Clock, Server

__all__ = [
    "Argument",
    "Await",
    "AwaitTimeoutError",
    "Clock",
    "Duration",
    "Info",
    "LockwheelError",
    "NoBinaryError",
    "Reply",
    "Server",
    "ServerError",
    "StartError",
    "Turn",
    "aio",
]
