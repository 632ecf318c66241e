"""The server, for tests that block."""

from __future__ import annotations

from datetime import datetime
from types import TracebackType
from typing import List, Optional, Sequence, Type, TypeVar, Union

from . import _report, _requests
from ._connections import Connections
from ._process import Process, options
from ._requests import Duration, Info, Request, Turn
from ._resp import Argument, Reply
from ._running import Running

T = TypeVar("T")

REPORT_TIMEOUT = 5.0
"""How many seconds a server has to answer what a report asks."""


class Server(Running):
    """A server of its own on a free port. It has started when the constructor returns, and ends with `stop`, with the
    `with` block, or with this process.

    `time` is `real`, `manual` or an instant, at which the clock then stands; `seed` decides all that is random in the
    server; `args` are more parameters, as on the server's command line; `binary` is another program than the
    package's.

    Errors: NoBinaryError, StartError.
    """

    def __init__(
        self,
        *,
        time: Union[str, datetime] = "real",
        seed: int = 0,
        args: Sequence[str] = (),
        binary: Optional[str] = None,
    ) -> None:
        self._child = Process(options(time, seed, args, binary))
        try:
            self._connections = Connections(self._child.access)
        except BaseException:
            self._child.stop()
            raise
        self.clock = Clock(self)
        """Turns the server's clock."""
        self.await_ = Await(self)
        """Waits for states instead of sleeping."""

    @property
    def _process(self) -> Process:
        return self._child

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self._process.is_running

    def command(self, *arguments: Argument) -> Reply:
        """Any command, on a connection of the server's own. ServerError: the server has refused it."""
        return self._connections.ask(arguments)

    def reset(self) -> None:
        """Makes the server as it was at its start: no keys, no scripts, its configuration, its clock, its seed.
        Connections of clients are cut."""
        self._connections.close()
        self.command("CONTROL.RESET")

    def stop(self) -> None:
        """Ends the server and waits for that. A second call does nothing."""
        self._connections.close()
        self._process.stop()

    def report(self) -> str:
        """What the server knows, for a test that has failed: its clock and seed, the clients that wait, the last
        commands and the last lines of its log."""
        connections = Connections(self._process.access)
        replies: List[Union[Reply, Exception]] = []
        for _, arguments, _ in _report.PARTS:
            try:
                replies.append(connections.ask(arguments, REPORT_TIMEOUT))
            except Exception as error:
                replies.append(error)
        connections.close()
        return _report.text(self._process, replies)

    def _ask(self, request: Request[T]) -> T:
        return request.read(self.command(*request.arguments))

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if isinstance(error, Exception) and hasattr(error, "add_note"):
            error.add_note(self.report())
        self.stop()

    def __repr__(self) -> str:
        return f"<lockwheel.Server {self.url}>"


class Clock:
    """Turns the two hands of a server's clock: the wall hand, on which keys expire, and the monotonic one, on which
    blocked clients wait. Durations are `timedelta` or seconds, of whole milliseconds; instants have a time zone."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def freeze(self) -> datetime:
        """Both hands stand still. Answers, as the next four do, where the wall hand stands."""
        return self._server._ask(_requests.hand("FREEZE"))

    def resume(self) -> datetime:
        """Both hands run from where they stand."""
        return self._server._ask(_requests.hand("RESUME"))

    def reset(self) -> datetime:
        """The wall hand is the system's time again; both hands run."""
        return self._server._ask(_requests.hand("RESET"))

    def step(self, by: Duration) -> datetime:
        """Moves the wall hand alone, back too: a clock that jumps."""
        return self._server._ask(_requests.hand("STEP", _requests.milliseconds(by)))

    def set(self, to: datetime) -> datetime:
        """Moves the wall hand alone to an instant."""
        return self._server._ask(_requests.hand("SET", _requests.since_epoch(to)))

    def advance(
        self,
        by: Duration,
        *,
        settle: Optional[Duration] = None,
        limit: Optional[Duration] = None,
        nowake: bool = False,
    ) -> Turn:
        """Moves both hands. Every deadline on the way fires at its own instant before this returns.

        With `settle` it goes on after each instant only when no command has come for so long in real time, in all at
        most `limit` (five seconds): clients react at the instant they were told at. With `nowake` Redisson's waiters
        are not told of leases that end.
        """
        return self._server._ask(_requests.advance(by, settle, limit, nowake))

    def next(
        self,
        count: int = 1,
        *,
        settle: Optional[Duration] = None,
        limit: Optional[Duration] = None,
        nowake: bool = False,
    ) -> Optional[Turn]:
        """Moves both hands to the next deadline, `count` times, and fires what is due there; None: there is none."""
        return self._server._ask(_requests.next_deadline(count, settle, limit, nowake))

    def info(self) -> Info:
        """Where the clock stands."""
        return self._server._ask(_requests.info())


class Await:
    """Waits for a state instead of sleeping. When the limit passes first, five seconds of real time unless told, it
    raises AwaitTimeoutError, with the server's report. Counts mean at least so many."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def blocked(self, count: int, *, key: Optional[str] = None, limit: Optional[Duration] = None) -> None:
        """So many clients are blocked, on this key if one is given."""
        self._until(_requests.blocked(count, key, limit))

    def waiters(self, key: str, count: int, *, limit: Optional[Duration] = None) -> None:
        """So many clients wait for a lock, in the server or subscribed to its Redisson channels."""
        self._until(_requests.waiters(key, count, limit))

    def subscribers(self, channel: str, count: int, *, limit: Optional[Duration] = None) -> None:
        """A channel has so many subscribers."""
        self._until(_requests.subscribers(channel, count, limit))

    def key(self, key: str, state: str, *, limit: Optional[Duration] = None) -> None:
        """A key is in a state: `EXISTS`, `GONE`, or of a type, as TYPE names it."""
        self._until(_requests.key_state(key, state, limit))

    def _until(self, request: Request[bool]) -> None:
        if not self._server._ask(request):
            raise _requests.not_in_time(request, self._server.report())
