"""Servers of a topology that hang: control goes to one that answers."""

import asyncio
import socket
import threading
from contextlib import ExitStack, suppress

import pytest
import redis

from lockwheel import Server, ServerError, aio
from lockwheel._access import Access
from lockwheel._connections import Connections

BUSY = b"-BUSY Redis is busy running a script.\r\n"
ENDS = ExitStack()


@pytest.fixture(autouse=True)
def ended():
    """Closes at the end of a test all that it has opened."""
    yield
    ENDS.close()


def replied(member, *arguments):
    """A client's reply; the error if there is none."""
    with redis.Redis.from_url(member.url, socket_timeout=None) as client:
        try:
            return client.execute_command(*arguments)
        except redis.RedisError as error:
            return error


def begun(member, *arguments):
    """A command that keeps a server, and its thread."""
    thread = threading.Thread(target=replied, args=(member, *arguments))
    thread.start()
    return thread


def is_left_out(other):
    """Whether another server notices that one hangs: its history leaves that one out."""
    history = steering(Access(other.port, False)).ask(["LOCK.HISTORY", "COUNT", 0])
    return history[history.index("truncated") + 1] == 1


def started(*args):
    return Server(topology="sentinel 3 --replicas 1", time="manual", args=args)


def test_control_passes_over_a_server_that_is_silent():
    with started("--enable-debug-command", "yes") as server:
        first, second = server.servers[:2]
        sleep = begun(first, "DEBUG", "SLEEP", 3600)
        while not is_left_out(second):
            pass
        assert server.clock.advance(60).fired > 0
        assert replied(second, "ROLE")[0] == b"master"
        asyncio.run(aio.Server.of(server).clock.advance(1))
        server.await_.key("k", "GONE")
        server.history.mark("still here")
        report = server.report()
        assert report.splitlines()[1] == f"server 0 hangs: server 1 ({second.address}) tells"
        assert "still here" in report
        server.faults.down(0)
        sleep.join()
        assert server.faults.up(0)
        assert server.clock.info() and server._steering.answered == 0
        assert server.report().splitlines()[1] == "clock:"


def test_control_passes_over_a_server_that_refuses_all():
    with started("--busy-reply-threshold", "1") as server:
        first, second = server.servers[:2]
        script = begun(first, "EVAL", "while true do end", 0)
        while not str(replied(first, "PING")).startswith("BUSY"):
            pass
        assert server.clock.advance(60).fired > 0
        assert replied(second, "ROLE")[0] == b"master"
        asyncio.run(aio.Server.of(server).clock.advance(1))
        server.await_.key("k", "GONE")
        assert server.report().splitlines()[1] == f"server 0 hangs: server 1 ({second.address}) tells"
        # A command is asked of the first one that lives.
        with pytest.raises(ServerError, match="^BUSY"):
            server.command("PING")
        assert server.command("SCRIPT", "KILL") == "OK"
        script.join()
        server.clock.info()
        assert server._steering.answered == 0


class Fake:
    """A server that answers each request on a connection by what `replies` makes of the connection's number and the
    request's name; None: nothing."""

    def __init__(self, replies):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._replies = replies
        self.asked = []
        thread = threading.Thread(target=self._serve)
        thread.start()
        ENDS.callback(thread.join)
        ENDS.callback(self._listener.shutdown, socket.SHUT_RDWR)

    @property
    def access(self):
        return Access(self._listener.getsockname()[1], False)

    def _serve(self):
        threads = []
        with self._listener, suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threads.append(threading.Thread(target=self._answer, args=(connection, len(threads))))
                threads[-1].start()
        for thread in threads:
            thread.join()

    def _answer(self, connection, number):
        with connection, suppress(OSError):
            while data := connection.recv(65536):
                name = data.split(b"\r\n")[2].decode()
                self.asked.append(name)
                if (reply := self._replies(number, name)) is not None:
                    connection.sendall(reply)

    def count(self, name):
        return self.asked.count(name)


def dead():
    """A server that has ended."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Access(listener.getsockname()[1], False)


def steering(*servers):
    accesses = [each if isinstance(each, Access) else each.access for each in servers]
    connections = Connections(accesses, is_steering=True)
    ENDS.callback(connections.close)
    return connections


def healthy(number, name):
    return b"+OK\r\n"


def refusing(number, name):
    return b"+OK\r\n" if name == "FAULT.EXEMPT" else BUSY


def test_a_server_is_asked_until_one_answers():
    late = Fake(lambda number, name: None if number < 2 else b"+OK\r\n")
    assert steering(late, dead()).ask(["PING"]) == "OK"
    assert late.count("PING") == 1
    silent, last = Fake(lambda number, name: None), Fake(healthy)
    control = steering(silent, last)
    assert [control.ask(["PING"]), asyncio.run(control.ask_async(["PING"]))] == ["OK", "OK"]
    assert (silent.count("PING"), last.count("PING")) == (0, 2)


def test_without_another_server_there_is_no_limit():
    # The first answer comes when the second connection of the test has asked for it.
    go = threading.Event()
    slow = Fake(lambda number, name: go.wait() and b"+OK\r\n")
    control = steering(slow)
    replies = []
    asking = threading.Thread(target=lambda: replies.append(control.ask(["PING"])))
    asking.start()
    asking.join(1.5)
    assert replies == [] and asking.is_alive()
    go.set()
    asking.join()
    assert replies == ["OK"] and slow.count("PING") == 1


def test_a_request_that_was_refused_goes_to_the_next_server():
    busy, free = Fake(refusing), Fake(healthy)
    control = steering(busy, free)
    assert control.ask(["CLOCK.ADVANCE", 1]) == "OK"
    assert (busy.count("CLOCK.ADVANCE"), free.count("CLOCK.ADVANCE"), control.answered) == (1, 1, 1)
    for others in ([dead()], [Fake(refusing)], [Fake(lambda number, name: None)]):
        with pytest.raises(ServerError, match="^BUSY"):
            steering(Fake(refusing), *others).ask(["CLOCK.ADVANCE", 1])
    other = Fake(lambda number, name: b"+OK\r\n" if name == "FAULT.EXEMPT" else b"-ERR no\r\n")
    untouched = Fake(healthy)
    with pytest.raises(ServerError, match="^ERR no"):
        steering(other, untouched).ask(["CLOCK.ADVANCE", 1])
    assert untouched.asked == []


def test_a_request_that_was_sent_is_not_sent_again():
    silent = Fake(lambda number, name: b"+OK\r\n" if name == "FAULT.EXEMPT" else None)
    other = Fake(healthy)
    with pytest.raises(OSError):
        steering(silent, other).ask(["CLOCK.ADVANCE", 1], 2.5)
    assert (silent.count("CLOCK.ADVANCE"), other.asked) == (1, [])
