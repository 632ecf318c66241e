"""The server, for tests that block."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Optional, Type

from . import _report, _verify
from ._connections import Connections
from ._methods import ServerMethods
from ._options import refuses_unknown_options
from ._process import Process, options
from ._resp import Argument, Reply, refuse_unanswered
from ._running import Running
from ._server_options import ServerOptions
from ._words import Request, T

if TYPE_CHECKING:
    from typing_extensions import Unpack

__tracebackhide__ = True

REPORT_TIMEOUT = 5.0
"""How many seconds a server has to answer what a report asks."""


@refuses_unknown_options
class Server(Running, ServerMethods):
    """A server of its own on a free port. It has started when the constructor returns, and ends with `stop`, with the
    `with` block, or with this process.

    `ServerOptions` describes the options. With `verify`, the end of a `with` block fails by what LOCK.VERIFY finds. With
    a `topology`, `servers` has its servers, and all else asks the first of them that lives.

    Errors: NoBinaryError, StartError.
    """

    def __init__(self, **given: Unpack[ServerOptions]) -> None:
        ServerMethods.__init__(self)
        self._child = Process(options(given))
        try:
            # What a test asks and what steers the server go by connections of their own: faults may meet the first.
            self._connections = Connections(self._child.accesses)
            self._steering = Connections(self._child.accesses, is_steering=True)
        except BaseException:
            self._child.stop()
            raise

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

    def check(self, *, level: Optional[str] = None) -> None:
        """FindingsError: there are findings from this level on, or from the one that the server was started with
        (`verify`); or there are none, and the history is not whole."""
        level = level or _verify.asked(self.options.verify)
        if level is not None and not _verify.is_clean(verdict := self.verify(level=level)):
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

    def _send(self, request: Request[T]) -> T:
        try:
            return (self._connections if request.is_own else self._steering).steer(request)
        except OSError as error:
            raise self._process.reason(error) from None

    def _prepare(self) -> None:
        self._connections.prepare()
        self._steering.prepare()

    def _set_exempt(self, is_exempt: bool) -> None:
        self._connections.set_exempt(is_exempt)

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
