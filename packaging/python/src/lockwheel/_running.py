"""What the blocking and the asynchronous server share: their address and how they were started."""

from __future__ import annotations

from ._access import HOST
from ._process import Options, Process


class Running:
    """A process with its addresses."""

    @property
    def _process(self) -> Process:
        raise NotImplementedError

    @property
    def host(self) -> str:
        """127.0.0.1."""
        return HOST

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self._process.access.port

    @property
    def url(self) -> str:
        """redis://127.0.0.1:port, for any client; with the password of `--requirepass`, and rediss:// over TLS alone."""
        return self._process.access.url

    @property
    def options(self) -> Options:
        """What it was started with."""
        return self._process.options
