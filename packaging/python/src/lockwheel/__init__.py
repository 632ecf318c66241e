"""A Redis-compatible server for tests, with a clock that a test advances.

    with lockwheel.Server() as server:
        client = redis.Redis.from_url(server.url)
        server.clock.advance(30)  # leases end, no sleep

`lockwheel.aio` is the same for asyncio; pytest has the fixtures `lockwheel` and `lockwheel_aio`.
"""

from . import aio
from ._asked import Duration
from ._asked.clock import Info, Turn
from ._asked.faults import Action, Clients, Rule
from ._asked.history import Entries, Entry, Finding, Verdict
from ._await import Await
from ._binary import NoBinaryError
from ._clock import Clock
from ._errors import AwaitTimeoutError, LockwheelError, ServerError, StartError
from ._faults import Faults
from ._history import History
from ._resp import Argument, Reply
from ._running import Member
from ._server import Server
from ._verify import FindingsError

__all__ = [
    "Action",
    "Argument",
    "Await",
    "AwaitTimeoutError",
    "Clients",
    "Clock",
    "Duration",
    "Entries",
    "Entry",
    "Faults",
    "Finding",
    "FindingsError",
    "History",
    "Info",
    "LockwheelError",
    "Member",
    "NoBinaryError",
    "Reply",
    "Rule",
    "Server",
    "ServerError",
    "StartError",
    "Turn",
    "Verdict",
    "aio",
]
