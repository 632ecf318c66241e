"""Connections to the server, blocking and asynchronous. They are kept after use, and the last one is used first: who
asks one thing after the other has one connection, and who waits on it keeps nobody from asking."""

from __future__ import annotations

import asyncio
import socket
from typing import List, Optional, Sequence, Tuple

from ._errors import ServerError
from ._resp import Argument, Incoming, Parse, Reply, encode

CHUNK = 65536


class Connections:
    """The connections to one server. Threads and tasks may share it."""

    def __init__(self, host: str, port: int) -> None:
        self._address: Tuple[str, int] = (host, port)
        self._idle: List[socket.socket] = []

    def ask(self, arguments: Sequence[Argument], timeout: Optional[float] = None) -> Reply:
        """One request and its reply. With a timeout in seconds no single step takes longer."""
        connection = self._take() or socket.create_connection(self._address)
        try:
            connection.settimeout(timeout)
            connection.sendall(encode(arguments))
            incoming = Incoming()
            parse = incoming.reply()
            while (ended := step(parse)) is None:
                incoming.add(came(connection.recv(CHUNK)))
        except BaseException:
            connection.close()
            raise
        return self._end(connection, incoming, ended)

    async def ask_async(self, arguments: Sequence[Argument]) -> Reply:
        """The same on whatever loop is running: a plain socket belongs to none."""
        loop = asyncio.get_running_loop()
        connection = self._take()
        try:
            if connection is None:
                connection = socket.socket()
                connection.setblocking(False)
                await loop.sock_connect(connection, self._address)
            connection.setblocking(False)
            await loop.sock_sendall(connection, encode(arguments))
            incoming = Incoming()
            parse = incoming.reply()
            while (ended := step(parse)) is None:
                incoming.add(came(await loop.sock_recv(connection, CHUNK)))
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        return self._end(connection, incoming, ended)

    def close(self) -> None:
        """Closes what is idle. The next request opens another."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Optional[socket.socket]:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # Another thread was faster.
                return None
            if is_silent(connection):
                return connection
            connection.close()
        return None

    def _end(self, connection: socket.socket, incoming: Incoming, ended: Ended) -> Reply:
        if incoming.is_empty():
            self._idle.append(connection)
        else:
            # It has become one for messages.
            connection.close()
        if isinstance(ended.reply, ServerError):
            raise ended.reply
        return ended.reply


def is_silent(connection: socket.socket) -> bool:
    """Whether it is open, and nothing has come that nobody asked for."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


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


def came(data: bytes) -> bytes:
    """What was received, if it is not the end."""
    if not data:
        raise ConnectionResetError("the server has closed the connection")
    return data
