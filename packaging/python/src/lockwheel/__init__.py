"""A Redis-compatible server for tests, with a clock that a test advances.

    with lockwheel.Server() as server:
        client = redis.Redis.from_url(server.url)
        server.clock.advance(30)  # leases end, no sleep

`lockwheel.aio` is the same for asyncio; pytest has the fixtures `lockwheel` and `lockwheel_aio`.
"""

from . import aio
from ._binary import NoBinaryError
from ._errors import AwaitTimeoutError, LockwheelError, ServerError, StartError
from ._methods import Await, Clock, Faults, History, Latches, Locks, Rates, Semaphores
from ._resp import Argument, Reply
from ._running import Member
from ._server import Server
from ._server_options import ServerOptions
from ._types import *
from ._types import __all__ as _types
from ._verify import FindingsError
from ._words import Duration

__all__ = [
    "Argument",
    "Await",
    "AwaitTimeoutError",
    "Clock",
    "Duration",
    "Faults",
    "FindingsError",
    "History",
    "Latches",
    "Locks",
    "LockwheelError",
    "Member",
    "NoBinaryError",
    "Rates",
    "Reply",
    "Semaphores",
    "Server",
    "ServerError",
    "ServerOptions",
    "StartError",
    "aio",
    *_types,
]
