"""The parameters of a command line, read as the server reads them."""

from __future__ import annotations

import re
from typing import List, Optional, Sequence

__tracebackhide__ = True

LOOPBACK = "127.0.0.1"
LOOPBACK_6 = "::1"

COMPLETE = ("save", "sentinel", "exit-with-parent")
"""Parameters that need no value."""

SPACE = " \t\n\v\f\r"
WORD = re.compile(
    rb"""(?P<bare>[^ \t\n\r"']*)"""
    rb"""(?:"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\'|[^'])*)')?(?=[ \t\n\v\f\r]|\Z)""",
    re.DOTALL,
)
"""A word, which may end with a part in quotes."""

ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}


class Arguments:
    """The words of a command line."""

    def __init__(self, words: Sequence[str]) -> None:
        self.leading: List[str] = []
        """The words before the first parameter: a configuration file."""
        self._read: List[List[str]] = []
        is_value = False
        for index, word in enumerate(words):
            if word.startswith("--") and not is_value:
                parameter = split(word[2:])
                follows = words[index + 1 : index + 2]
                is_complete = parameter[0].lower() in COMPLETE and all(next.startswith("--") for next in follows)
                is_value = len(parameter) == 1 and not is_complete
                self._read.append(parameter)
            else:
                (self._read[-1] if self._read else self.leading).append(word)
                is_value = False
        self.parameters = list(words[len(self.leading) :])
        """The words behind `leading`."""

    def values(self, name: str) -> List[str]:
        """The values of a parameter, where it stands last; empty if it is not there."""
        found = [parameter[1:] for parameter in self._read if parameter[0].lower() == name]
        return found[-1] if found else []

    def value(self, name: str) -> str:
        """The value of a parameter; empty if it is not there."""
        return next(iter(self.values(name)), "")

    def first_of(self, names: Sequence[str]) -> Optional[str]:
        """The first of these parameters that is there."""
        given = [parameter[0].lower() for parameter in self._read]
        return next((name for name in names if name in given), None)


def split(line: str) -> List[str]:
    """The words of a line, unquoted; the line itself where its quotes have no end, which the server refuses."""
    data = line.encode("utf-8", "surrogateescape").strip(SPACE.encode())
    words: List[str] = []
    at = 0
    while at < len(data):
        found = WORD.match(data, at)
        if found is None:
            return [line]
        double, single = found["double"], found["single"]
        word = found["bare"]
        word += b"" if double is None else ESCAPE.sub(unescaped, double)
        word += b"" if single is None else single.replace(b"\\'", b"'")
        words.append(word.decode("utf-8", "surrogateescape"))
        at = len(data) - len(data[found.end() :].lstrip(SPACE.encode()))
    return words or [""]


def unescaped(escape: "re.Match[bytes]") -> bytes:
    """What an escape stands for."""
    digits, letter = escape[1], escape[2]
    return bytes([int(digits, 16)]) if digits else ESCAPED.get(letter, letter)


def host_of(bound: Sequence[str]) -> str:
    """The address to connect to of a server that listens on these: a loopback address if it is among them."""
    addresses = [address[1:] if address.startswith("-") else address for words in bound for address in words.split()]
    if not addresses or any(address in (LOOPBACK, "0.0.0.0", "*") for address in addresses):
        return LOOPBACK
    return LOOPBACK_6 if any(address in (LOOPBACK_6, "::", "::*") for address in addresses) else addresses[0]


def with_port(host: str, port: int) -> str:
    """An address and a port, as URLs have them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
