"""Connections to the servers, blocking and asynchronous. They are kept after use, and the last one is used first: who
asks one thing after the other has one connection, and who waits on it keeps nobody from asking.

A request is written once, as an operation: a generator of steps, which are taken by a plain socket or by a loop."""

from __future__ import annotations

import asyncio
import socket
from itertools import count
from typing import Awaitable, Callable, Generator, List, NamedTuple, Optional, Sequence, Set, TypeVar, Union

from ._access import Access
from ._channel import CHUNK, Channel, Talk, came
from ._errors import ServerError, is_hanging
from ._resp import Argument, Reply
from ._words import Request

__tracebackhide__ = True

PREPARED = 4
"""How many connections are ready when no new ones are let in."""

PROBE_LIMIT = 1.0
"""How many seconds a server has to answer a probe, where another one can be asked. The limit doubles with each round."""

HANGING_SHARE = 0.1
"""The share of this limit for a server that did not answer the last time."""

T = TypeVar("T")


NO_ANSWER = "the server does not answer"


class ProbeTimeoutError(OSError):
    """A server has not answered a probe within its limit."""


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
    limit: Optional[float] = None
    """How many seconds the step may take; ProbeTimeoutError after that."""


Operation = Generator[Step, bytes, T]


class Connections:
    """The connections to the first of these servers that lives, or that answers, if their requests steer the servers.
    Threads and tasks may share it."""

    def __init__(self, servers: Sequence[Access], *, is_steering: bool = False) -> None:
        self._servers = servers
        self._is_steering = is_steering
        self._password = servers[0].password
        self._context = servers[0].context()
        self._idle: List[List[Connection]] = [[] for _ in servers]
        self._is_exempt = True
        self.answered = 0
        """The place of the server that has answered last."""
        self.hanging: Set[int] = set()
        """The places of the servers that live and were passed over, since they did not answer or refused all."""

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
        refusals: List[ServerError] = []
        refused: List[int] = []
        while True:
            connection = yield from self._living(avoid, self._is_steering, refused)
            if connection is None:
                raise refusals[0]
            try:
                reply = yield from over(connection, connection.channel.ask(arguments))
            except OSError:
                # The server of a wait was killed: the next one is asked.
                if not is_wait or len(self._servers) == 1:
                    raise
                continue
            if self._is_steering and len(self._servers) > 1 and isinstance(reply, ServerError) and is_hanging(reply):
                # It has done nothing.
                refusals.append(reply)
                refused.append(connection.place)
                self.hanging.add(connection.place)
                self._keep(connection)
                continue
            self.answered = connection.place
            return self._end(connection, reply)

    def _prepare(self) -> Operation[None]:
        connections = []
        for _ in range(PREPARED):
            connection = yield from self._living(None, True)
            assert connection is not None
            connections.append(connection)
        for connection in connections:
            yield from over(connection, connection.channel.probe())
            self._keep(connection)

    def _living(
        self, avoid: Optional[int], is_hasty: bool, refused: Sequence[int] = ()
    ) -> Operation[Optional[Connection]]:
        """A connection to the first server that lives. The error of the first one if none does, also when all are asked
        again: a sentinel that promotes a server cuts a connection that has not said yet that it is exempt.

        In haste a server that hangs, or refuses all, is passed over when another one answers; if none does, the servers
        are asked again with twice the limit. After a refusal the others are asked once: None if none answers."""
        first_error: Optional[OSError] = None
        order = self._order(avoid)
        limit = PROBE_LIMIT if is_hasty and len(order) > 1 else None
        others = [place for place in order if place not in refused]
        for turn in count():
            is_late = False
            busy: Optional[Connection] = None
            for place in others:
                try:
                    connection = yield from self._opened(place, limit and limit * 2**turn)
                except OSError as error:
                    first_error = first_error or error
                    is_late = is_late or isinstance(error, ProbeTimeoutError)
                    continue
                if limit is None or not connection.channel.is_hanging:
                    self._keep(busy)
                    return connection
                if busy is None and not refused:
                    busy = connection
                else:
                    self._keep(connection)
            if refused or busy is not None:
                return busy
            if len(order) == 1 or (turn > 0 and not is_late):
                break
        assert first_error is not None
        raise first_error

    def _order(self, avoid: Optional[int]) -> List[int]:
        """The places in the order in which they are asked. Sentinels are not: they know few commands."""
        places = [place for place, server in enumerate(self._servers) if not server.is_sentinel]
        return sorted(places, key=lambda place: place == avoid)

    def _opened(self, place: int, limit: Optional[float]) -> Operation[Connection]:
        """A connection to one server, which has answered where there are others. With a limit in seconds no step takes
        longer."""
        share = HANGING_SHARE if place in self.hanging else 1.0
        try:
            connection = yield from self._answering(place, limit and limit * share)
        except ProbeTimeoutError:
            self.hanging.add(place)
            raise
        except OSError:
            self.hanging.discard(place)
            raise
        if connection.channel.is_hanging:
            self.hanging.add(place)
        else:
            self.hanging.discard(place)
        return connection

    def _answering(self, place: int, limit: Optional[float]) -> Operation[Connection]:
        while (connection := self._take(place)) is not None:
            if len(self._servers) == 1 or connection.channel.is_in_transaction:
                return connection
            try:
                yield from over(connection, connection.channel.probe(), limit)
            except ProbeTimeoutError:
                raise
            except OSError:
                continue
            return connection
        server = self._servers[place]
        family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
        channel = Channel(self._context, self._password, self._is_exempt)
        connection = Connection(socket.socket(family), channel, place)
        try:
            yield Step(connection.socket, Connect(server.host, server.port), limit)
        except BaseException:
            connection.socket.close()
            raise
        if len(self._servers) > 1:
            # A server may be killed once it has accepted a connection.
            yield from over(connection, connection.channel.probe(), limit)
        return connection

    def _keep(self, connection: Optional[Connection]) -> None:
        """Keeps a connection for the next request."""
        if connection is not None:
            self._idle[connection.place].append(connection)

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
            self._keep(connection)
        else:
            # It has become one for messages.
            connection.socket.close()
        if isinstance(reply, ServerError):
            raise reply
        return reply


def over(connection: Connection, talk: Talk[T], limit: Optional[float] = None) -> Operation[T]:
    """A conversation over a connection, which is closed if it fails. No step takes longer than the limit."""
    received: Optional[bytes] = None
    try:
        while True:
            try:
                unsent = talk.send(received)
            except StopIteration as stop:
                ended: T = stop.value
                return ended
            received = yield Step(connection.socket, unsent, limit)
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
    if step.limit is None or (timeout is not None and timeout < step.limit):
        return take_within(step, timeout)
    try:
        return take_within(step, step.limit)
    except socket.timeout as error:
        raise ProbeTimeoutError(NO_ANSWER) from error


def take_within(step: Step, timeout: Optional[float]) -> bytes:
    """Takes a step in so many seconds."""
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
    if step.limit is None:
        return await take_on_loop(step)
    try:
        return await asyncio.wait_for(take_on_loop(step), step.limit)
    except asyncio.TimeoutError as error:
        raise ProbeTimeoutError(NO_ANSWER) from error


async def take_on_loop(step: Step) -> bytes:
    """Takes a step on the running loop, however long it takes."""
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
