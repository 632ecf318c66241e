"""What the blocking and the asynchronous server share: their address and how they were started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

from ._arguments import LOOPBACK, with_port
from ._process import Options, Process


@dataclass(frozen=True)
class Member:
    """One of the servers of a topology."""

    role: str
    """What it began as: `master`, `replica` or `sentinel`."""

    port: int
    """The port on which it listens."""

    url: str
    """redis://127.0.0.1:port, for any client; with the password of `--requirepass`."""

    host: str = LOOPBACK
    """127.0.0.1, or the address of `--bind`."""

    @property
    def address(self) -> str:
        """127.0.0.1:port."""
        return with_port(self.host, self.port)


class Running:
    """A process with its addresses."""

    @property
    def _process(self) -> Process:
        raise NotImplementedError

    @property
    def host(self) -> str:
        """127.0.0.1, or the address of `--bind` where that does not name it."""
        return self._process.access.host

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self._process.access.port

    @property
    def url(self) -> str:
        """redis://127.0.0.1:port, for any client; with the password of `--requirepass`, and rediss:// over TLS alone."""
        return self._process.access.url

    @property
    def servers(self) -> List[Member]:
        """The servers of a topology: masters, then replicas, then sentinels. Without a topology there are none."""
        return [Member(role, access.port, access.url, access.host) for role, access in self._process.servers]

    @property
    def options(self) -> Options:
        """What it was started with."""
        return self._process.options
