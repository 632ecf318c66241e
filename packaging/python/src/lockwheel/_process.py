"""The server's process: how it is started, when it is ready, what it says, how it ends."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any, Deque, Iterable, List, Optional, Tuple, Union

from ._access import Access
from ._arguments import LOOPBACK, Arguments, host_of
from ._binary import find
from ._errors import StartError
from ._server_options import PARAMETERS, ServerOptions
from ._verify import OFF, checked
from ._words import ms

__tracebackhide__ = True

SERVER = re.compile(r"(master|replica|sentinel) \[?(\S+?)\]?:(\d+)$")
"""What a topology says of each of its servers, before it is ready."""

READY = re.compile(r"Ready to accept connections (tcp|tls), port=(\d+)")

SOCKET = re.compile(r"The server is now ready to accept connections at (.+)")
"""What a server says of a unix socket, behind what it says of its port."""

OWN = ("port", "bind", "time", "seed", "loglevel", "lock-history", "slowlog-log-slower-than", "slowlog-max-len")
"""The parameters that this package sets."""

LINES_KEPT = 20
BEGIN_KEPT = 10
"""How many of the first lines the error of a start has: where there is a cause, it stands there."""

GRACE = 5.0
"""How many seconds a server has to end by itself."""

COMMANDS_KEPT = 64
"""How many of the last commands a report knows: all, as if each were slow."""


@dataclass(frozen=True)
class Options:
    """What a server is started with."""

    time: Union[str, datetime] = "real"
    seed: int = 0
    args: Tuple[str, ...] = ()
    binary: Optional[str] = None
    verify: str = OFF
    """From which level on findings in the history fail a test."""

    topology: str = ""
    """What several servers are to one another; empty: there is one."""

    parameters: Tuple[str, ...] = ()
    """The parameters of the program for further options."""

    @property
    def arguments(self) -> Arguments:
        """`args`, as the server reads them."""
        return Arguments(self.args)

    @property
    def is_over_tls(self) -> bool:
        """Whether the server is to listen for clients over TLS."""
        return self.arguments.first_of(("tls-port", "tls-port-file")) is not None

    @property
    def needs_port_file(self) -> bool:
        """Whether the server has a port only when a file waits for its number: beside a unix socket."""
        return bool(self.arguments.value("unixsocket")) and not self.is_over_tls

    @property
    def effective_seed(self) -> str:
        """The seed of the server: that of `args`, if it is there."""
        return self.arguments.value("seed") or str(self.seed)

    def command(self, port_file: Optional[Path] = None) -> List[str]:
        """The command line."""
        fixed = ["--port", "0", "--bind", LOOPBACK, "--time", clock(self.time), "--seed", str(self.seed)]
        fixed += ["--loglevel", "warning"]
        report = ["--slowlog-log-slower-than", "0", "--slowlog-max-len", str(COMMANDS_KEPT)]
        report += [] if port_file is None else ["--port-file", str(port_file)]
        begins = ["topology", *self.topology.split()] if self.topology else []
        # A configuration file stands first.
        begins += self.arguments.leading
        kept = ["--exit-with-parent", "--lock-history", "yes"]
        return [find(self.binary), *begins, *fixed, *kept, *report, *self.parameters, *self.arguments.parameters]


def options(given: ServerOptions) -> Options:
    """Options as they are given: `args` may be a list. TypeError for a string, which would be its letters, and for other
    types; ValueError for a topology without a word, or with a parameter that belongs into `args`, and for a sentinel."""
    args, binary, topology = given.get("args", ()), given.get("binary"), given.get("topology")
    if isinstance(args, (str, bytes)) or not isinstance(args, Iterable):
        raise TypeError(f"args is a list of words, not {args!r}")
    words = tuple(args)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"args is a list of words such as ['--threads', '2']: {word!r} is no string")
    if binary is not None and not isinstance(binary, (str, os.PathLike)):
        raise TypeError(f"binary is the path of a program, not {binary!r}")
    if topology is not None and not isinstance(topology, str):
        raise TypeError(f"topology is a string such as 'sentinel 3 --replicas 1', not {topology!r}")
    if topology is not None and not topology.strip():
        raise ValueError(f"topology is 'replicas N', 'sentinel N' or 'cluster M[xN]', not {topology!r}")
    if own := Arguments((topology or "").split()).first_of(OWN):
        raise ValueError(f"topology has --{own}, which would have no effect there: it belongs into args")
    if "--sentinel" in words:
        raise ValueError("args have --sentinel: a sentinel does not say that it is ready; topology='sentinel 3' has some")
    level = checked(given.get("verify", OFF))
    time, seed = given.get("time", "real"), given.get("seed", 0)
    return Options(time, seed, words, binary, level, topology or "", tuple(parameters(given)))


def parameters(given: ServerOptions) -> List[str]:
    """The parameters of the program for the options that the package passes on."""
    found = []
    for name, parameter in PARAMETERS.items():
        value: Any = given.get(name)
        if value is not None:
            shown = ms(value) if name.endswith("_seconds") else "yes" if value is True else "no" if value is False else value
            found += [f"--{parameter}", str(shown)]
    return found


def clock(time: Union[str, datetime]) -> str:
    """`real`, `manual`, or an instant, as the command line has it."""
    if isinstance(time, str):
        return time
    if not isinstance(time, datetime):
        raise TypeError(f"time is 'real', 'manual' or an instant, not {time!r}")
    if time.tzinfo is None:
        raise ValueError(f"{time!r}: without a time zone this is no instant")
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Process:
    """A server that runs and is ready."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.servers: List[Tuple[str, Access]] = []
        """Each server of a topology: what it began as, and how it is reached."""
        self._log: Deque[str] = deque(maxlen=LINES_KEPT)
        self._begin: List[str] = []
        self._is_stopped = False
        if options.needs_port_file:
            with tempfile.TemporaryDirectory(prefix="lockwheel") as folder:
                output = self._start(options.command(Path(folder, "port")))
        else:
            output = self._start(options.command())
        # A pipe that nobody empties would stop the server.
        self._reader = threading.Thread(target=self._read, args=(output,), name="lockwheel-log", daemon=True)
        self._reader.start()

    def _start(self, command: List[str]) -> IO[bytes]:
        """Starts the program, waits until it is ready, and returns its output."""
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise StartError(f"{command[0]} does not start: {error.strerror}") from error
        output = self._child.stdout
        assert output is not None
        try:
            self.access = self._wait_until_ready(output)
            """How it is reached."""
        except BaseException:
            self._child.kill()
            self._child.wait()
            output.close()
            raise
        return output

    @property
    def accesses(self) -> List[Access]:
        """How it is reached, and the other servers of a topology."""
        return [self.access, *(access for _, access in self.servers[1:])]

    def _wait_until_ready(self, output: IO[bytes]) -> Access:
        args = self.options.args
        for line in output:
            self._keep(line)
            if len(self._begin) < BEGIN_KEPT:
                self._begin.append(self._log[-1])
            if server := SERVER.match(self._log[-1]):
                access = Access(int(server[3]), False, args, server[1] == "sentinel", host_of([server[2]]))
                self.servers.append((server[1], access))
            if ready := READY.search(self._log[-1]):
                # Where it listens for plain clients too, that is what it says first.
                host = self.servers[0][1].host if self.servers else host_of(self.options.arguments.values("bind"))
                return Access(int(ready[2]), ready[1] == "tls", args, host=host)
            if (socket := SOCKET.search(self._log[-1])) and not self.options.is_over_tls:
                raise StartError(
                    f"the server is ready at {socket[1]} and has no port: beside a unix socket it needs --port or --port-file"
                )
        said = "\n".join(self._said_at_start()) or "it said nothing"
        raise StartError(f"the server has ended with code {self._child.wait()}: {said.strip()}")

    def _said_at_start(self) -> List[str]:
        """The first lines and the last."""
        if len(self._log) < LINES_KEPT:
            return list(self._log)
        return [*self._begin, "…", *list(self._log)[BEGIN_KEPT:]]

    def _read(self, output: IO[bytes]) -> None:
        with output:
            for line in output:
                self._keep(line)

    def _keep(self, line: bytes) -> None:
        self._log.append(line.decode("utf-8", "replace").rstrip())

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._child.poll() is None

    def reason(self, error: OSError) -> OSError:
        """The error of a request that has failed, which says so if the server has ended."""
        if self.is_running:
            return error
        how = ": it was stopped" if self._is_stopped else f" with code {self._child.returncode}"
        return ConnectionError(f"the server has ended{how}")

    def log(self) -> List[str]:
        """The last lines that it has printed."""
        return list(self._log.copy())

    def stop(self) -> None:
        """Ends it: by SIGTERM, and after a grace by SIGKILL. A second call does nothing."""
        self._is_stopped = self._is_stopped or self.is_running
        self._child.terminate()
        try:
            self._child.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._reader.join(GRACE)
