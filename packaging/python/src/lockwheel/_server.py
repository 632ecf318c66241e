"""The server, for tests that block."""

from __future__ import annotations

from datetime import datetime
from types import TracebackType
from typing import Optional, Sequence, Type, Union

from . import _report, _verify
from ._asked import Request, T, history
from ._asked.history import Verdict
from ._await import Await
from ._clock import Clock
from ._connections import Connections
from ._faults import Faults
from ._history import History
from ._options import refuses_unknown_options
from ._process import Process, options
from ._resp import Argument, Reply, refuse_unanswered
from ._running import Running

__tracebackhide__ = True

REPORT_TIMEOUT = 5.0
"""How many seconds a server has to answer what a report asks."""


@refuses_unknown_options
class Server(Running):
    """A server of its own on a free port. It has started when the constructor returns, and ends with `stop`, with the
    `with` block, or with this process.

    `time` is `real`, `manual` or an instant, at which the clock then stands; `seed` decides all that is random in the
    server; `args` are more parameters, as on the server's command line; `binary` is another program than the
    package's. With `verify` the end of a `with` block fails by what LOCK.VERIFY finds: from `violation` on, or from
    `suspect` on. A `topology`, such as `replicas 2`, `sentinel 3 --replicas 2` or `cluster 3x1`, is several servers in one
    process and on one clock: `servers` has them, and all else asks the first of them that lives.

    Errors: NoBinaryError, StartError.
    """

    def __init__(
        self,
        *,
        time: Union[str, datetime] = "real",
        seed: int = 0,
        args: Sequence[str] = (),
        binary: Optional[str] = None,
        verify: str = _verify.OFF,
        topology: Optional[str] = None,
    ) -> None:
        self._child = Process(options(time, seed, args, binary, verify, topology))
        try:
            # What a test asks and what steers the server go by connections of their own: faults may meet the first.
            self._connections = Connections(self._child.accesses)
            self._steering = Connections(self._child.accesses, is_steering=True)
        except BaseException:
            self._child.stop()
            raise
        self.clock = Clock(self._ask)
        """Turns the server's clock."""
        self.await_ = Await(self._ask, self.report)
        """Waits for states instead of sleeping."""
        self.faults = Faults(self._ask, self._connections.set_exempt, self._prepare)
        """Makes faults."""
        self.history = History(self._ask)
        """Tells what happened to locks."""

    @property
    def _process(self) -> Process:
        return self._child

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self._process.is_running

    def command(self, *arguments: Argument) -> Reply:
        """Any command, on a connection of the server's own. ServerError: the server has refused it. ValueError: it has no
        name, or no reply (CLIENT REPLY OFF and SKIP)."""
        refuse_unanswered(arguments)
        try:
            return self._connections.ask(arguments)
        except OSError as error:
            raise self._process.reason(error) from None

    def reset(self, *, keep_clients: bool = False) -> None:
        """Makes the server as it was at its start: no keys, no scripts, no faults, its configuration, its clock, its
        seed. Connections of clients are cut, unless they are to be kept. RuntimeError: a topology is not reset, start
        another."""
        if self.options.topology:
            raise RuntimeError("a topology is not reset: start another")
        self._connections.set_exempt(True)
        self._connections.close()
        # On one that is there: no new one may be let in.
        self._steering.ask(("CONTROL.RESET", *(["KEEPCLIENTS"] if keep_clients else [])))

    def verify(self, *, key: Optional[str] = None, level: Optional[str] = None) -> Verdict:
        """What the server finds wrong in the history of locks with names like `key`: from `violation`, `suspect` or
        `lint` on."""
        return self._ask(history.verify(key, level))

    def check(self, *, level: Optional[str] = None) -> None:
        """FindingsError: there are findings from this level on, or from the one that the server was started with
        (`verify`); or there are none, and the history is not whole."""
        level = level or _verify.asked(self.options.verify)
        if level is not None and not (verdict := self.verify(level=level)).is_clean:
            raise _verify.FindingsError(verdict, self.report())

    def stop(self) -> None:
        """Ends the server and waits for that. A second call does nothing."""
        self._connections.close()
        self._steering.close()
        self._process.stop()

    def report(self) -> str:
        """What the server knows, for a test that has failed: its clock and seed, the clients that wait, the faults that
        have acted, what it finds in the history of locks, that history, the last commands and the last lines of its
        log."""
        return _report.text(
            self._process,
            lambda *arguments: self._steering.ask(arguments, REPORT_TIMEOUT),
            lambda: self._steering.answered,
            lambda: 0 in self._steering.hanging,
        )

    def _ask(self, request: Request[T]) -> T:
        try:
            return self._steering.steer(request)
        except OSError as error:
            raise self._process.reason(error) from None

    def _prepare(self) -> None:
        self._connections.prepare()
        self._steering.prepare()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            if error is None:
                self.check()
            elif isinstance(error, Exception) and hasattr(error, "add_note"):
                error.add_note(self.report())
        finally:
            self.stop()

    def __repr__(self) -> str:
        return f"<lockwheel.Server {self.url}>"
