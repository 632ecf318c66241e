"""Connections to the servers, blocking and asynchronous. They are kept after use, and the last one is used first: who
asks one thing after the other has one connection, and who waits on it keeps nobody from asking.

A request is written once, as an operation: a generator of steps, which are taken by a plain socket or by a loop."""

from __future__ import annotations

import asyncio
import socket
from typing import Awaitable, Callable, Generator, List, NamedTuple, Optional, Sequence, TypeVar, Union

from ._access import Access
from ._asked import Request
from ._channel import CHUNK, Channel, Talk, came
from ._errors import ServerError
from ._resp import Argument, Reply

__tracebackhide__ = True

PREPARED = 4
"""How many connections are ready when no new ones are let in."""

T = TypeVar("T")


class Connection(NamedTuple):
    """A socket and what goes over it."""

    socket: socket.socket
    channel: Channel
    place: int
    """The place of its server."""


class Connect(NamedTuple):
    """The address that a socket connects to."""

    host: str
    port: int


class Step(NamedTuple):
    """The next step on a socket: to connect, to send bytes, or None: to receive bytes."""

    socket: socket.socket
    work: Union[Connect, bytes, None]


Operation = Generator[Step, bytes, T]


class Connections:
    """The connections to the first of these servers that lives. Threads and tasks may share it."""

    def __init__(self, servers: Sequence[Access]) -> None:
        self._servers = servers
        self._password = servers[0].password
        self._context = servers[0].context()
        self._idle: List[List[Connection]] = [[] for _ in servers]
        self._is_exempt = True
        self.answered = 0
        """The place of the server that has answered last."""

    def ask(self, arguments: Sequence[Argument], timeout: Optional[float] = None) -> Reply:
        """One request and its reply. With a timeout in seconds no single step takes longer."""
        return run(self._request(arguments), timeout)

    async def ask_async(self, arguments: Sequence[Argument]) -> Reply:
        """The same on whatever loop is running: a plain socket belongs to none."""
        return await run_async(self._request(arguments))

    def steer(self, request: Request[T]) -> T:
        """A request that steers the servers, and what its reply means."""
        return request.read(run(self._request(request.arguments, request.avoid, request.is_wait), None))

    async def steer_async(self, request: Request[T]) -> T:
        """The same on whatever loop is running."""
        return request.read(await run_async(self._request(request.arguments, request.avoid, request.is_wait)))

    def prepare(self) -> None:
        """Opens some that stay idle: after a partition or a restart the server lets no new ones in. Not where faults
        are to meet them."""
        if self._is_exempt:
            run(self._prepare(), None)

    def set_exempt(self, is_exempt: bool) -> None:
        """Whether rules for faults leave out what is asked from now on."""
        self._is_exempt = is_exempt

    def close(self) -> None:
        """Closes what is idle. The next request opens another."""
        for idle in self._idle:
            while idle:
                idle.pop().socket.close()

    def _request(
        self, arguments: Sequence[Argument], avoid: Optional[int] = None, is_wait: bool = False
    ) -> Operation[Reply]:
        while True:
            connection = yield from self._living(avoid)
            try:
                reply = yield from over(connection, connection.channel.ask(arguments))
            except OSError:
                # The server of a wait was killed: the next one is asked.
                if not is_wait or len(self._servers) == 1:
                    raise
                continue
            self.answered = connection.place
            return self._end(connection, reply)

    def _prepare(self) -> Operation[None]:
        connections = []
        for _ in range(PREPARED):
            connections.append((yield from self._living(None)))
        for connection in connections:
            yield from over(connection, connection.channel.probe())
            self._idle[connection.place].append(connection)

    def _living(self, avoid: Optional[int]) -> Operation[Connection]:
        """A connection to the first server that lives. The error of the first one if none does, also when all are asked
        again: a sentinel that promotes a server cuts a connection that has not said yet that it is exempt."""
        first_error: Optional[OSError] = None
        order = self._order(avoid)
        for place in order if len(order) == 1 else order * 2:
            try:
                return (yield from self._opened(place))
            except OSError as error:
                first_error = first_error or error
        assert first_error is not None
        raise first_error

    def _order(self, avoid: Optional[int]) -> List[int]:
        """The places in the order in which they are asked. Sentinels are not: they know few commands."""
        places = [place for place, server in enumerate(self._servers) if not server.is_sentinel]
        return sorted(places, key=lambda place: place == avoid)

    def _opened(self, place: int) -> Operation[Connection]:
        """A connection to one server, which has answered where there are others."""
        while (connection := self._take(place)) is not None:
            if len(self._servers) == 1 or connection.channel.is_in_transaction:
                return connection
            try:
                yield from over(connection, connection.channel.probe())
            except OSError:
                continue
            return connection
        server = self._servers[place]
        family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
        channel = Channel(self._context, self._password, self._is_exempt)
        connection = Connection(socket.socket(family), channel, place)
        try:
            yield Step(connection.socket, Connect(server.host, server.port))
        except BaseException:
            connection.socket.close()
            raise
        if len(self._servers) > 1:
            # A server may be killed once it has accepted a connection.
            yield from over(connection, connection.channel.probe())
        return connection

    def _take(self, place: int) -> Optional[Connection]:
        idle = self._idle[place]
        while idle:
            try:
                connection = idle.pop()
            except IndexError:  # Another thread was faster.
                return None
            if connection.channel.is_exempt == self._is_exempt and is_silent(connection.socket):
                return connection
            connection.socket.close()
        return None

    def _end(self, connection: Connection, reply: Reply) -> Reply:
        if connection.channel.is_silent():
            self._idle[connection.place].append(connection)
        else:
            # It has become one for messages.
            connection.socket.close()
        if isinstance(reply, ServerError):
            raise reply
        return reply


def over(connection: Connection, talk: Talk[T]) -> Operation[T]:
    """A conversation over a connection, which is closed if it fails."""
    received: Optional[bytes] = None
    try:
        while True:
            try:
                unsent = talk.send(received)
            except StopIteration as stop:
                ended: T = stop.value
                return ended
            received = yield Step(connection.socket, unsent)
    except BaseException:
        connection.socket.close()
        raise


async def taken(operation: Operation[T], take: Callable[[Step], Awaitable[bytes]]) -> T:
    """Takes the steps of an operation, each when the one before is done."""
    try:
        step = next(operation)
        while True:
            try:
                received = await take(step)
            except OSError as error:
                step = operation.throw(error.with_traceback(None))
            except BaseException as error:
                step = operation.throw(error)
            else:
                step = operation.send(received)
    except StopIteration as stop:
        result: T = stop.value
        return result


def run(operation: Operation[T], timeout: Optional[float]) -> T:
    """Takes the steps of an operation, and waits for each."""

    async def take_at_once(step: Step) -> bytes:
        return take(step, timeout)

    # What waits within its steps ends without a loop.
    try:
        taken(operation, take_at_once).send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("a step has waited for a loop")


def take(step: Step, timeout: Optional[float]) -> bytes:
    """Takes a step."""
    step.socket.settimeout(timeout)
    if isinstance(step.work, Connect):
        step.socket.connect(step.work)
    elif step.work is None:
        return came(step.socket.recv(CHUNK))
    else:
        step.socket.sendall(step.work)
    return b""


async def run_async(operation: Operation[T]) -> T:
    """Takes the steps of an operation on the running loop."""
    return await taken(operation, take_async)


async def take_async(step: Step) -> bytes:
    """Takes a step on the running loop."""
    loop = asyncio.get_running_loop()
    step.socket.setblocking(False)
    if isinstance(step.work, Connect):
        await loop.sock_connect(step.socket, step.work)
    elif step.work is None:
        return came(await loop.sock_recv(step.socket, CHUNK))
    else:
        await loop.sock_sendall(step.socket, step.work)
    return b""


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
