"""The pytest plugin: a server for each worker, reset before each test; its report where a test fails.

The options are in the ini file (`lockwheel_time`, `lockwheel_seed`, `lockwheel_args`, `lockwheel_verify`); a test has its
own by the marker `lockwheel(time=…, seed=…, args=[…], verify=…, topology=…)`.
"""

from __future__ import annotations

import ast
import os
from typing import Generator, Iterator, Optional, Set, cast

import pytest

from . import aio
from ._errors import AwaitTimeoutError, ServerError
from ._nearest import no_option
from ._process import options
from ._server_options import ServerOptions
from ._server import Server
from ._verify import FindingsError

__tracebackhide__ = True

MARKED = [name for name in ServerOptions.__annotations__ if name != "binary"]
"""The options of the marker."""

MARKER = f"lockwheel({', '.join(MARKED)}): what this test's server is started with, instead of the ini file's"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The ini file's."""
    parser.addini("lockwheel_time", "the server's clock: real, manual, or an instant", default="real")
    parser.addini("lockwheel_seed", "what decides all that is random in the server", default="0")
    parser.addini("lockwheel_args", "more parameters of the server", type="args", default=[])
    parser.addini("lockwheel_verify", "which findings fail a test: off, violation or suspect", default="off")


def pytest_configure(config: pytest.Config) -> None:
    """The marker is a known one."""
    config.addinivalue_line("markers", MARKER)


class Worker:
    """The server of one worker: it starts with the first test that asks for it."""

    def __init__(self, given: ServerOptions) -> None:
        self.given = given
        self._server: Optional[Server] = None

    def fresh(self) -> Server:
        """The server as at its start; another, when a test has ended it, or left it so that it cannot be reset."""
        if self._server is not None and self._server.is_running:
            try:
                self._server.reset()
                return self._server
            except (OSError, ServerError):
                self._server.stop()
        self._server = Server(**self.given)
        return self._server

    def stop(self) -> None:
        """Ends the server, if there is one."""
        if self._server is not None:
            self._server.stop()


@pytest.fixture(scope="session")
def _lockwheel_worker(pytestconfig: pytest.Config) -> Iterator[Worker]:
    ini = pytestconfig.getini
    seed = ini("lockwheel_seed")
    if not seed.isdecimal():
        raise pytest.UsageError(f"lockwheel_seed is a whole number, not '{seed}'")
    verify, args = ini("lockwheel_verify"), ini("lockwheel_args")
    worker = Worker({"time": ini("lockwheel_time"), "seed": int(seed), "args": args, "verify": verify})
    yield worker
    worker.stop()


@pytest.fixture
def lockwheel(request: pytest.FixtureRequest, _lockwheel_worker: Worker) -> Iterator[Server]:
    """A Lockwheel server as at its start; this worker's, or one with the options of the test's marker."""
    mark = request.node.get_closest_marker("lockwheel")
    given = _lockwheel_worker.given
    wanted = given if mark is None else marked(mark, given)
    if options(wanted) == options(given):
        yield _lockwheel_worker.fresh()
        return
    own = Server(**wanted)
    yield own
    own.stop()


@pytest.fixture
def lockwheel_aio(lockwheel: Server) -> aio.Server:
    """The server of the fixture `lockwheel`, for asyncio."""
    return aio.Server.of(lockwheel)


def marked(mark: pytest.Mark, beside: ServerOptions) -> ServerOptions:
    """The options of a marker; what it does not say is as it is beside it."""
    if mark.args:
        raise pytest.UsageError(f"the marker is {MARKER}")
    for word in mark.kwargs:
        if word not in MARKED:
            raise pytest.UsageError(no_option("the marker lockwheel", word, MARKED))
    return cast(ServerOptions, {**beside, **mark.kwargs})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """A test that has passed fails by what its servers find in the history, where they are to."""
    yield
    for server in servers(item):
        try:
            server.check()
        except FindingsError as findings:
            raise_at(item, findings)


def raise_at(item: pytest.Item, error: Exception) -> None:
    """Raises an error at the line where a test begins: no line of the test is the one that did what is found."""
    path, line, _ = item.reportinfo()
    if line is None:
        raise error
    # A traceback points to the code that raises. This code is one statement, which claims to stand at that line;
    # without an end no part of the line is marked.
    module = ast.parse("raise error")
    for node in ast.walk(module):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.end_lineno = node.end_col_offset = None
    code = compile(module, os.fspath(path), "exec")
    exec(code.replace(co_name=item.name, co_firstlineno=line + 1), {"error": error.with_traceback(None)})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that has failed tells what its servers know."""
    report = yield
    # What was awaited in vain has the report with it, and so have findings.
    has_report = call.excinfo is not None and isinstance(call.excinfo.value, (AwaitTimeoutError, FindingsError))
    if report.failed and not has_report:
        for server in servers(item):
            report.sections.append(("lockwheel", server.report()))
    crash = getattr(report.longrepr, "reprcrash", None)
    if has_report and crash is not None:
        # Where CI runs, pytest's summary shows all of a message, and the report would stand there again.
        crash.message = crash.message.partition("\n")[0]
    return report


def servers(item: pytest.Item) -> Set[Server]:
    """The servers among the fixtures of a test, each once."""
    values = getattr(item, "funcargs", {}).values()
    blocking = {value for value in values if isinstance(value, Server)}
    return blocking | {value.blocking for value in values if isinstance(value, aio.Server) and value.is_running}
