"""The report of a test that has failed: what it leaves out, and what it adds."""

import contextlib

import redis

from lockwheel import Server

REDISSON = "4c4d25a0-6f2a-4d0f-9d2b-0d7b1b7f3c11:47"
LOCK = (
    "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1) "
    "redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])"
)
NOTE = "    note: order:42 was lost by expiry after the clock was turned. Redisson's watchdog renews a lock in real time, "


def part(report, name):
    """The lines of one of its parts."""
    lines = report.splitlines()
    begin = lines.index(f"{name}:") + 1
    return [line.strip() for line in lines[begin : next(i for i in range(begin, len(lines)) if lines[i][0] != " ")]]


def test_many_clients_that_come_and_go_are_one_line(own):
    with contextlib.ExitStack() as clients:
        for _ in range(25):
            client = clients.enter_context(redis.Redis(port=own.port, single_connection_client=True))
            client.ping()
        own.history.mark("all are here")
        for name in ("a", "b"):
            clients.enter_context(redis.Redis(port=own.port, client_name=name, single_connection_client=True)).ping()
    own.history.mark("all are gone")
    own.await_.event("disconnect", count=27)
    history = part(own.report(), "history")
    first = [line for line in history if "connect x" in line][0]
    assert " 0 ms connect x" in first and int(first.split(" x")[1].split()[0]) >= 25
    assert first.split()[-1].startswith("client=") and "," not in first
    assert sum("connect x" in line for line in history) == 2  # they come, and they go
    assert len(history) < 12


def test_the_same_command_in_a_row_is_one_line(own):
    clients = [redis.Redis(port=own.port, single_connection_client=True) for _ in "ab"]
    for client in clients * 2:
        client.ping()
    for key, times in (("k", 3), ("other", 2)):
        for _ in range(times):
            clients[0].get(key)
    told = part(own.report(), "last commands")
    assert told[-4] == "PING (4 times, 2 clients)"
    assert told[-3].startswith("127.0.0.1:") and told[-3].endswith(": GET k (3 times)")
    assert [line.split(": ")[1] for line in told[-2:]] == ["GET other", "GET other"]


def test_a_lock_of_redisson_that_a_turned_clock_ended_has_a_note(own):
    def lock(key, owner=REDISSON):
        own.command("EVAL", LOCK, 1, key, 30000, owner)

    lock("order:42")
    for _ in range(3):
        own.clock.advance(10)
    assert own.command("EXISTS", "order:42") == 0
    note = part(own.report(), "findings")[-1]
    assert note.startswith(NOTE.strip())
    assert note.endswith('a small lockWatchdogTimeout, turns shorter than that, and await_.event("renewed") after each')
    lock("a")
    lock("b")
    own.clock.advance(30)
    assert part(own.report(), "findings")[-1].startswith("note: order:42 and 2 more were lost by expiry")


def test_other_locks_have_none():
    with Server(time="manual") as own:
        own.command("SET", "plain", "me", "PX", 1000, "NX")
        own.command("EVAL", LOCK, 1, "other", 1000, "me:1")
        own.command("EVAL", LOCK, 1, "given:back", 1000, REDISSON)
        own.command("DEL", "given:back")
        own.clock.advance(1)
        assert not any(line.startswith("note:") for line in part(own.report(), "findings"))
    with Server() as real:  # nobody has turned this clock
        real.command("EVAL", LOCK, 1, "short", 1, REDISSON)
        real.await_.event("lost", limit_seconds=30)
        assert not any(line.startswith("note:") for line in part(real.report(), "findings"))
