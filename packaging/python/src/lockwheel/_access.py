"""How a server is reached: what its arguments and its ready line say of address, password and TLS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Optional, Sequence
from urllib.parse import quote

from ._arguments import LOOPBACK, Arguments, with_port

__tracebackhide__ = True

PARTIAL_CHAIN = ssl.VerifyFlags(0x80000)
"""OpenSSL's flag by which a certificate that signs no others can be trusted; Python has its name since 3.10."""


@dataclass(frozen=True)
class Access:
    """Where a server listens, and what it asks of clients."""

    port: int
    tls: bool
    """Whether it listens for clients over TLS alone."""
    args: Sequence[str] = ()
    """The parameters that it was started with beside the package's own."""
    is_sentinel: bool = False
    host: str = LOOPBACK

    @property
    def address(self) -> str:
        """127.0.0.1:port."""
        return with_port(self.host, self.port)

    @property
    def url(self) -> str:
        """redis://127.0.0.1:port, with the password if there is one, and rediss:// over TLS."""
        login = f":{quote(self.password, safe='')}@" if self.password else ""
        return f"{'rediss' if self.tls else 'redis'}://{login}{self.address}"

    @property
    def password(self) -> str:
        """The default user's; empty: none is asked for."""
        return self._option("requirepass")

    def context(self) -> Optional[ssl.SSLContext]:
        """How the package's own connections go over TLS; None: they do not. It trusts the certificates that the
        arguments name, and no others, and shows `tls-client-cert-file`, or else the server's own."""
        if not self.tls:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # It was started on this address, whatever names its certificate has; and the certificate itself may be trusted.
        context.check_hostname = False
        context.verify_flags |= PARTIAL_CHAIN
        for name in ("tls-ca-cert-file", "tls-cert-file"):
            if path := self._option(name):
                context.load_verify_locations(path)
        if self._option("tls-auth-clients") != "no":
            of = "tls-client-" if self._option("tls-client-cert-file") else "tls-"
            secret = self._option(f"{of}key-file-pass") or None
            context.load_cert_chain(self._option(f"{of}cert-file"), self._option(f"{of}key-file"), secret)
        return context

    def _option(self, name: str) -> str:
        """The value of a parameter, the last one, as the server takes it; empty without."""
        return Arguments(self.args).value(name)
