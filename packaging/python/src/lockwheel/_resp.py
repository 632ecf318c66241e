"""The protocol: requests written, replies of RESP2 and RESP3 parsed as their bytes come. No socket is known here."""

from __future__ import annotations

from typing import Callable, Dict, Generator, Hashable, List, Sequence, TypeVar, Union

from ._errors import LockwheelError, ServerError

Argument = Union[str, bytes, int, float]
Reply = Union[None, bool, int, float, str, ServerError, List["Reply"], Dict[Hashable, "Reply"]]
"""A string that is not UTF-8 is decoded with `surrogateescape`, so that it can be sent back as it was."""

T = TypeVar("T")
Parse = Generator[None, None, T]
"""Yields when it needs more bytes."""

CRLF = b"\r\n"


def refuse_unanswered(arguments: Sequence[Argument]) -> None:
    """ValueError for what the server never answers."""
    if not arguments:
        raise ValueError("a command has a name: the server never answers an empty request")
    words = [word_of(argument).upper() for argument in arguments[:3]]
    if words[:2] == [b"CLIENT", b"REPLY"] and words[2:] in ([b"OFF"], [b"SKIP"]):
        mode = decode(words[2])
        raise ValueError(
            f"CLIENT REPLY {mode} has no reply, which a command waits for: send it on a connection of the test's own"
        )


def word_of(argument: Argument) -> bytes:
    """An argument as it is sent."""
    return argument if isinstance(argument, bytes) else str(argument).encode("utf-8", "surrogateescape")


def encode(arguments: Sequence[Argument]) -> bytes:
    """A request: an array of strings."""
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        data = word_of(argument)
        parts += [b"$%d\r\n" % len(data), data, CRLF]
    return b"".join(parts)


class Incoming:
    """Bytes that have come, and the replies in them."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        """Bytes that came."""
        self._bytes += data

    def is_empty(self) -> bool:
        """Whether all that came was of replies that are read."""
        return not self._bytes

    def reply(self) -> Parse[Reply]:
        """The next reply."""
        line = yield from self._line()
        kind, text = line[:1], line[1:]
        if kind in SIMPLE:
            return SIMPLE[kind](text)
        if kind in b"$=!" and kind:
            return (yield from self._bulk(kind, int(text)))
        if kind in b"*~>" and kind:
            return (yield from self._array(int(text)))
        if kind == b"%":
            return (yield from self._map(int(text)))
        raise LockwheelError(f"no reply of a server: {line!r}")

    def _bulk(self, kind: bytes, length: int) -> Parse[Reply]:
        if length < 0:
            return None
        text = decode((yield from self._take(length + len(CRLF)))[:length])
        if kind == b"!":
            return ServerError(text)
        # A verbatim string begins with its format and a colon.
        return text[4:] if kind == b"=" else text

    def _array(self, length: int) -> Parse[Reply]:
        if length < 0:
            return None
        elements: List[Reply] = []
        for _ in range(length):
            elements.append((yield from self.reply()))
        return elements

    def _map(self, length: int) -> Parse[Reply]:
        fields: Dict[Hashable, Reply] = {}
        for _ in range(length):
            name = hashable((yield from self.reply()))
            fields[name] = yield from self.reply()
        return fields

    def _line(self) -> Parse[bytes]:
        searched = 0
        while (end := self._bytes.find(CRLF, searched)) < 0:
            # The first byte of the two may have come.
            searched = max(0, len(self._bytes) - 1)
            yield
        line = yield from self._take(end + len(CRLF))
        return line[:end]

    def _take(self, length: int) -> Parse[bytes]:
        while len(self._bytes) < length:
            yield
        taken = bytes(self._bytes[:length])
        del self._bytes[:length]
        return taken


def decode(data: bytes) -> str:
    """Text that goes back as it came, whatever its bytes."""
    return data.decode("utf-8", "surrogateescape")


def hashable(reply: Reply) -> Hashable:
    """A reply as the name of a field."""
    return tuple(map(hashable, reply)) if isinstance(reply, list) else str(reply) if isinstance(reply, dict) else reply


SIMPLE: Dict[bytes, Callable[[bytes], Reply]] = {
    b"+": decode,
    b"-": lambda text: ServerError(decode(text)),
    b":": int,
    b"(": int,
    b",": float,
    b"#": lambda text: text == b"t",
    b"_": lambda text: None,
}


def pairs(reply: Reply) -> Dict[Hashable, Reply]:
    """A map: in RESP2 names and values come in turn."""
    if isinstance(reply, list):
        return dict(zip(map(hashable, reply[::2]), reply[1::2]))
    return reply if isinstance(reply, dict) else {}
