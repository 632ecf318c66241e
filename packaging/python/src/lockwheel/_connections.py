"""Connections to the server, blocking and asynchronous. They are kept after use, and the last one is used first: who
asks one thing after the other has one connection, and who waits on it keeps nobody from asking."""

from __future__ import annotations

import asyncio
import socket
from typing import List, NamedTuple, Optional, Sequence

from ._access import HOST, Access
from ._channel import CHUNK, Channel, Conversation
from ._errors import ServerError
from ._resp import Argument, Reply

PREPARED = 4
"""How many connections are ready when no new ones are let in."""


class Connection(NamedTuple):
    """A socket and what goes over it."""

    socket: socket.socket
    channel: Channel


class Connections:
    """The connections to one server. Threads and tasks may share it."""

    def __init__(self, access: Access) -> None:
        self._address = (HOST, access.port)
        self._password = access.password
        self._context = access.context()
        self._idle: List[Connection] = []
        self._is_exempt = True

    def ask(self, arguments: Sequence[Argument], timeout: Optional[float] = None) -> Reply:
        """One request and its reply. With a timeout in seconds no single step takes longer."""
        return self._exchange(self._opened(), arguments, timeout)

    def prepare(self) -> None:
        """Opens some that stay idle: after a partition or a restart the server lets no new ones in. Not where faults
        are to meet them."""
        if not self._is_exempt:
            return
        for connection in [self._opened() for _ in range(PREPARED)]:
            self._exchange(connection, ("PING",), None)

    def _opened(self) -> Connection:
        return self._take() or self._over(socket.create_connection(self._address))

    def _exchange(self, connection: Connection, arguments: Sequence[Argument], timeout: Optional[float]) -> Reply:
        try:
            connection.socket.settimeout(timeout)
            talk = Conversation(connection.channel.ask(arguments))
            while talk.ended is None:
                if talk.unsent is None:
                    talk.go_on(came(connection.socket.recv(CHUNK)))
                else:
                    connection.socket.sendall(talk.unsent)
                    talk.go_on()
        except BaseException:
            connection.socket.close()
            raise
        return self._end(connection, talk.ended.reply)

    async def ask_async(self, arguments: Sequence[Argument]) -> Reply:
        """The same on whatever loop is running: a plain socket belongs to none."""
        loop = asyncio.get_running_loop()
        connection = self._take()
        is_new = connection is None
        connection = connection or self._over(socket.socket())
        try:
            connection.socket.setblocking(False)
            if is_new:
                await loop.sock_connect(connection.socket, self._address)
            talk = Conversation(connection.channel.ask(arguments))
            while talk.ended is None:
                if talk.unsent is None:
                    talk.go_on(came(await loop.sock_recv(connection.socket, CHUNK)))
                else:
                    await loop.sock_sendall(connection.socket, talk.unsent)
                    talk.go_on()
        except BaseException:
            connection.socket.close()
            raise
        return self._end(connection, talk.ended.reply)

    def set_exempt(self, is_exempt: bool) -> None:
        """Whether rules for faults leave out what is asked from now on."""
        self._is_exempt = is_exempt

    def close(self) -> None:
        """Closes what is idle. The next request opens another."""
        while self._idle:
            self._idle.pop().socket.close()

    def _over(self, opened: socket.socket) -> Connection:
        return Connection(opened, Channel(self._context, self._password, self._is_exempt))

    def _take(self) -> Optional[Connection]:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # Another thread was faster.
                return None
            if connection.channel.is_exempt == self._is_exempt and is_silent(connection.socket):
                return connection
            connection.socket.close()
        return None

    def _end(self, connection: Connection, reply: Reply) -> Reply:
        if connection.channel.is_silent():
            self._idle.append(connection)
        else:
            # It has become one for messages.
            connection.socket.close()
        if isinstance(reply, ServerError):
            raise reply
        return reply


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


def came(data: bytes) -> bytes:
    """What was received, if it is not the end."""
    if not data:
        raise ConnectionResetError("the server has closed the connection")
    return data
