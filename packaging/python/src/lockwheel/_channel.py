"""What goes over one connection: the request and its reply, before them AUTH, around them TLS. No socket is known here.

A conversation yields bytes that are to be sent, or None for bytes that have to come, which it is then sent."""

from __future__ import annotations

import ssl
from typing import Callable, Generator, Optional, Sequence, TypeVar

from ._errors import ServerError, is_hanging
from ._resp import Argument, Incoming, Parse, Reply, encode

__tracebackhide__ = True

CHUNK = 65536

SHUT_OUT = "max number of clients reached"
"""What a server says that lets no more clients in, and closes the connection."""

T = TypeVar("T")
Talk = Generator[Optional[bytes], Optional[bytes], T]


class Channel:
    """One end of a connection."""

    def __init__(self, context: Optional[ssl.SSLContext], password: str, is_exempt: bool) -> None:
        self._incoming = Incoming()
        self._password = password
        self.is_exempt = is_exempt
        """Whether rules for faults leave it out."""
        self._is_open = False
        self.is_in_transaction = False
        """Whether MULTI was asked for, and its end was not."""
        self.is_hanging = False
        """Whether the last probe was refused, as by a server that runs a script."""
        self._received, self._unsent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = None if context is None else context.wrap_bio(self._received, self._unsent)

    def ask(self, arguments: Sequence[Argument]) -> Talk[Reply]:
        """A request and its reply; the first comes after the handshake, AUTH and FAULT.EXEMPT."""
        yield from self._open()
        reply = yield from self._exchange(arguments)
        self._note(arguments, reply)
        return reply

    def probe(self) -> Talk[None]:
        """A request that changes nothing: whatever is answered, the server lives."""
        yield from self._open()
        reply = yield from self._exchange(("FAULT.EXEMPT", "ON" if self.is_exempt else "OFF"))
        self.is_hanging = isinstance(reply, ServerError) and is_hanging(reply)

    def _note(self, arguments: Sequence[Argument], reply: Reply) -> None:
        name = encode(arguments[:1]).upper().split()[-1]
        if name == b"MULTI" and not isinstance(reply, ServerError):
            self.is_in_transaction = True
        elif name in (b"EXEC", b"DISCARD", b"RESET"):
            self.is_in_transaction = False

    def _open(self) -> Talk[None]:
        if not self._is_open:
            if self._tls is not None:
                yield from self._over_tls(self._tls.do_handshake)
            if self._password:
                refused = yield from self._exchange(("AUTH", self._password))
                if isinstance(refused, ServerError):
                    raise refused
            if self.is_exempt:
                # A server that cannot be steered refuses it, and has no faults either.
                refused = yield from self._exchange(("FAULT.EXEMPT", "ON"))
                if isinstance(refused, ServerError) and SHUT_OUT in str(refused):
                    raise refused
            self._is_open = True

    def is_silent(self) -> bool:
        """Whether all that came was of replies that are read."""
        return self._incoming.is_empty()

    def _exchange(self, arguments: Sequence[Argument]) -> Talk[Reply]:
        yield from self._send(encode(arguments))
        parse = self._incoming.reply()
        while (ended := step(parse)) is None:
            self._incoming.add((yield from self._receive()))
        return ended.reply

    def _send(self, data: bytes) -> Talk[None]:
        if self._tls is None:
            yield data
            return
        tls, rest = self._tls, memoryview(data)
        while rest:
            part = rest
            rest = rest[(yield from self._over_tls(lambda: tls.write(part))) :]

    def _receive(self) -> Talk[bytes]:
        if self._tls is None:
            return (yield None) or b""
        tls = self._tls
        return came((yield from self._over_tls(lambda: tls.read(CHUNK))))

    def _over_tls(self, act: Callable[[], T]) -> Talk[T]:
        """Does what needs bytes to go and to come, until it is done."""
        while True:
            done = False
            try:
                result = act()
                done = True
            except ssl.SSLWantReadError:
                pass
            if unsent := self._unsent.read():
                yield unsent
            if done:
                return result
            self._received.write((yield None) or b"")


def came(data: bytes) -> bytes:
    """What was received, if it is not the end."""
    if not data:
        raise ConnectionResetError("the server has closed the connection")
    return data


class Ended:
    """A reply that is whole."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply


def step(parse: Parse[Reply]) -> Optional[Ended]:
    """Goes on with what has come; None: more has to."""
    try:
        next(parse)
    except StopIteration as stop:
        return Ended(stop.value)
    return None
