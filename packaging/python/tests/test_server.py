"""The server, its clock and its waits, for code that blocks."""

import signal
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from statistics import median
from time import perf_counter

import pytest
import redis

import lockwheel as package
from lockwheel import AwaitTimeoutError, NoBinaryError, Server, ServerError, StartError


def client_of(server):
    return redis.Redis.from_url(server.url, decode_responses=True)


def test_it_is_ready_when_it_is_there_and_gone_when_it_is_stopped():
    with Server() as server:
        assert server.url == f"redis://{server.host}:{server.port}"
        assert client_of(server).ping()
    assert not server.is_running
    server.stop()


def test_two_servers_know_nothing_of_each_other():
    with Server() as one, Server() as other:
        one.command("SET", "k", "v")
        assert other.command("GET", "k") is None


def test_it_ends_with_the_process_that_has_started_it():
    program = (
        "import lockwheel, os, signal\n"
        "server = lockwheel.Server()\n"
        "print(server.port, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert ended.returncode == -signal.SIGKILL
    client = redis.Redis(port=int(ended.stdout), socket_timeout=60)
    # The server closes what it has accepted when it ends; from then on it refuses.
    with pytest.raises(redis.ConnectionError):
        while True:
            client.ping()


def test_options_reach_the_server():
    at = datetime(2030, 1, 1, tzinfo=timezone.utc)
    with Server(time=at, seed=3, args=["--databases", "3"]) as server:
        assert server.clock.info().wall == at
        assert server.command("CONFIG", "GET", "databases") == ["databases", "3"]
        assert "seed 3" in server.report()
    with Server(time="2030-01-01T00:00:00Z") as server:
        assert server.clock.info().wall == at


def test_one_seed_gives_the_same_and_another_another():
    def drawn(seed):
        with Server(time="manual", seed=seed) as server:
            server.command("SADD", "s", *range(1000))
            return server.command("SRANDMEMBER", "s", 10)

    assert drawn(1) == drawn(1) != drawn(2)


def test_any_reply_is_read(own):
    assert own.command("SET", b"\xff\x00\r\n", "v") == "OK"
    assert [name.encode("utf-8", "surrogateescape") for name in own.command("KEYS", "*")] == [b"\xff\x00\r\n"]
    assert own.command("GET", "no") is None
    assert own.command("STRLEN", b"\xff\x00\r\n") == 1
    assert own.command("EVAL", "return {1, 'x', {}, false, {err='E no'}}", 0)[:4] == [1, "x", [], None]
    assert len(own.command("ECHO", "x" * 3_000_000)) == 3_000_000
    with pytest.raises(ServerError, match="^ERR unknown command 'NO'"):
        own.command("NO")
    assert own.command("PING") == "PONG", "the connection is good for the next"


def test_any_reply_of_the_third_protocol_is_read(own):
    assert own.command("HELLO", 3)["proto"] == 3
    own.command("HSET", "h", "f", "v")
    assert own.command("HGETALL", "h") == {"f": "v"}
    own.command("ZADD", "z", "1.5", "m")
    assert own.command("ZSCORE", "z", "m") == 1.5
    assert own.command("GET", "no") is None
    assert own.command("SMEMBERS", "no") == []
    assert own.command("DEBUG", "PROTOCOL", "true") is True
    assert own.command("DEBUG", "PROTOCOL", "bignum") == 1234567999999999999999999999999999999
    assert own.command("DEBUG", "PROTOCOL", "verbatim") == "This is a verbatim\nstring"
    assert own.clock.info().mode == "manual", "maps are read in both protocols"


def test_a_connection_that_was_cut_is_opened_again(own):
    assert own.command("PING") == "PONG"
    client = client_of(own)
    assert client.execute_command("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal") == 1
    # It is told of its end when it asks, unless it has seen it before.
    with suppress(ConnectionError):
        own.command("PING")
    assert own.command("PING") == "PONG"


def test_threads_ask_side_by_side(own):
    waits = threading.Thread(target=own.command, args=("BLPOP", "q", 0))
    waits.start()
    own.await_.blocked(1, key="q")
    own.command("RPUSH", "q", "v")
    waits.join()


def test_the_clock_turns(own):
    own.command("SET", "k", "v", "PX", 30_000)
    before = own.clock.info()
    assert (before.mode, before.next, before.timers) == ("manual", timedelta(seconds=30), 1)
    turn = own.clock.advance(timedelta(seconds=30))
    assert (turn.wall, turn.fired) == (before.wall + timedelta(seconds=30), 1)
    assert own.command("EXISTS", "k") == 0
    after = own.clock.info()
    assert after.monotonic - before.monotonic == timedelta(seconds=30) and after.next is None
    assert own.clock.next() is None

    own.command("SET", "k", "v", "PX", 250)
    assert own.clock.next().fired == 1
    assert own.clock.step(-60) == after.wall + timedelta(milliseconds=250 - 60_000)
    to = datetime(2031, 2, 3, 4, 5, 6, 7000, timezone.utc)
    assert own.clock.set(to) == to == own.clock.freeze()
    own.clock.resume()
    assert own.clock.info().mode == "real"
    own.clock.reset()
    assert abs(own.clock.info().wall - datetime.now(timezone.utc)) < timedelta(minutes=10)


@pytest.mark.parametrize("wrong", [0.0001, 1e-6, 1e-7, -1e-6, 5e-324, 0.0010001, timedelta(microseconds=1500), 1.00052])
def test_durations_are_whole_milliseconds(own, wrong):
    with pytest.raises(ValueError, match="whole milliseconds"):
        own.clock.advance(wrong)
    assert own.clock.info().monotonic == timedelta(0)


def test_durations_are_exact(own):
    for by in (0.1, 0.7, 0.1 + 0.2, 100.3 - 100.299, 1.001, 12.345, 86_400.001, timedelta(days=365), 3):
        before = own.clock.info().monotonic
        own.clock.advance(by)
        wanted = by if isinstance(by, timedelta) else timedelta(milliseconds=round(by * 1000))
        assert own.clock.info().monotonic - before == wanted


def test_an_instant_has_a_time_zone(own):
    with pytest.raises(ValueError, match="time zone"):
        own.clock.set(datetime(2030, 1, 1))
    with pytest.raises(ValueError, match="time zone"):
        Server(time=datetime(2030, 1, 1))


def test_clients_react_at_the_instant_that_they_are_told_at(own):
    """The waiter takes what a lease frees before the next deadline comes."""
    client = client_of(own)
    client.config_set("notify-keyspace-events", "Ex")
    told = client.pubsub()
    told.subscribe("__keyevent@0__:expired")

    def answer():
        for message in told.listen():
            if message["type"] == "message" and message["data"] == "lease":
                at = client.time()
                client.set("taken", f"{at[0] * 1000 + at[1] // 1000}")
                return

    reacts = threading.Thread(target=answer)
    reacts.start()
    own.await_.subscribers("__keyevent@0__:expired", 1)
    own.command("SET", "lease", "x", "PX", 1000)
    own.command("SET", "other", "x", "PX", 5000)
    begin = own.clock.info().wall
    turn = own.clock.advance(10, settle_seconds=0.2, limit_seconds=60)
    reacts.join()
    assert turn.settled is True and turn.fired == 2
    taken = int(own.command("GET", "taken"))
    assert taken == round(begin.timestamp() * 1000) + 1000


def test_waits_are_for_states(own):
    client = client_of(own)
    own.command("SET", "k", "v")
    own.await_.key("k", "EXISTS")
    own.await_.key("k", "string")
    own.await_.key("no", "gone")
    subscriber = client.pubsub()
    subscriber.subscribe("news")
    own.await_.subscribers("news", 1)
    subscriber.subscribe("redisson_lock__channel:{lock}")
    own.await_.waiters("lock", 1)


def test_a_wait_that_is_in_vain_says_what_the_server_knows(own):
    own.command("SET", "who", "me")
    with pytest.raises(AwaitTimeoutError, match="AWAIT.KEY lock EXISTS LIMIT 20: not within the limit") as error:
        own.await_.key("lock", "EXISTS", limit_seconds=0.02)
    assert isinstance(error.value, TimeoutError) and "SET who me" in str(error.value)


def test_a_report_has_clock_waiters_commands_and_log(own):
    client = redis.Redis.from_url(own.url, client_name="worker-7")
    waits = threading.Thread(target=client.blpop, args=("queue",))
    waits.start()
    own.await_.blocked(1)
    own.command("SET", "a key", "\n")
    own.clock.advance(1)
    report = own.report()
    own.command("RPUSH", "queue", "v")
    waits.join()
    lines = report.splitlines()
    assert lines[0] == f"lockwheel on 127.0.0.1:{own.port}, seed 7"
    assert any(line.startswith("    manual, ") and "monotonic 1 s" in line for line in lines)
    assert any("name=worker-7" in line and line.endswith("cmd=blpop") for line in lines)
    assert any(line.endswith("SET 'a key' '\\n'") for line in lines)
    assert "CLOCK." not in report and "AWAIT." not in report and "SLOWLOG" not in report
    assert any("Ready to accept connections" in line for line in lines)


def test_a_report_comes_in_every_state_of_the_connection(own):
    own.command("MULTI")
    assert "    manual, " in own.report()
    own.command("DISCARD")
    own.stop()
    assert "it has ended" in own.report()


def test_the_newest_command_is_last(own):
    for number in range(100):
        own.command("ECHO", number)
    commands = [line.split()[-1] for line in own.report().splitlines() if "ECHO" in line]
    assert commands == [str(number) for number in range(100 - len(commands), 100)] and len(commands) > 50


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes yet")
def test_an_error_in_the_block_has_the_report():
    with pytest.raises(ZeroDivisionError) as error:
        with Server() as server:
            server.command("SET", "who", "me")
            _ = 1 / 0
    assert "SET who me" in error.value.__notes__[0]


def test_a_reset_begins_anew():
    with Server(time="manual", seed=7) as server:

        def drawn():
            server.command("SADD", "s", *range(1000))
            return server.command("SRANDMEMBER", "s", 10)

        began, first = server.clock.info().wall, drawn()
        assert drawn() != first
        server.command("SET", "k", "v")
        server.command("CONFIG", "SET", "maxmemory", "100mb")
        server.clock.advance(3600)
        server.clock.resume()
        client = client_of(server)
        pubsub = client.pubsub()
        pubsub.subscribe("news")
        server.await_.subscribers("news", 1)
        server.command("MULTI")
        server.reset()
        assert server.command("DBSIZE") == 0
        assert server.command("CONFIG", "GET", "maxmemory") == ["maxmemory", "0"]
        assert drawn() == first
        assert server.command("PUBLISH", "news", "x") == 0, "the client's connection was cut"
        info = server.clock.info()
        assert info.mode == "manual" and info.wall == began


def test_what_does_not_start_says_why(tmp_path):
    with pytest.raises(StartError, match="(?s)code 1: .*no-such-parameter"):
        Server(args=["--no-such-parameter", "1"])
    with pytest.raises(StartError, match="it said nothing"):
        Server(binary="/bin/false")
    with pytest.raises(FileNotFoundError, match="binary is '.*/none': there is no file /.*/none$"):
        Server(binary=str(tmp_path / "none"))
    (tmp_path / "text").write_text("no program")
    with pytest.raises(StartError, match="/text does not start: Permission denied"):
        Server(binary=str(tmp_path / "text"))


def test_the_program_is_found_in_order(monkeypatch, tmp_path):
    shown = tmp_path / "lockwheel"
    shown.write_text("#!/bin/sh\necho shown; exit 3\n")
    shown.chmod(0o755)
    installed = package._binary.installed()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LOCKWHEEL_BINARY", raising=False)
    assert package._binary.find() == installed, "the package's own before PATH"
    monkeypatch.setenv("LOCKWHEEL_BINARY", "/bin/false")
    assert package._binary.find() == "/bin/false"
    assert package._binary.find(str(shown)) == str(shown)
    monkeypatch.setenv("LOCKWHEEL_BINARY", "no/program")
    with pytest.raises(NoBinaryError, match="LOCKWHEEL_BINARY is 'no/program': there is no file /.*/no/program"):
        package._binary.find()
    monkeypatch.delenv("LOCKWHEEL_BINARY")
    monkeypatch.setattr(package._binary, "installed", lambda: None)
    assert package._binary.find() == str(shown)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoBinaryError, match="linux x86_64"):
        Server()


def test_the_program_is_on_the_path_of_the_environment():
    installed = package._binary.installed()
    assert installed is not None
    version = subprocess.run([installed, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    module = subprocess.run([sys.executable, "-m", "lockwheel", "--version"], stdout=subprocess.PIPE, text=True)
    assert module.stdout == version != ""


def test_how_long_a_start_takes_is_told(capsys):
    took = []
    for _ in range(20):
        begin = perf_counter()
        server = Server()
        took.append((perf_counter() - begin) * 1000)
        server.stop()
    assert len(took) == 20
    with capsys.disabled():
        print(f"\nfrom Server() to ready, 20 starts: median {median(took):.1f} ms", end="")
        print(f" ({min(took):.1f} to {max(took):.1f} ms)")
