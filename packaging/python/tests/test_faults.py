"""Faults: every rule is one that the server takes, and what they do is done."""

import asyncio
import inspect
import threading

import pytest
import redis
import redis.asyncio

import lockwheel as package
from lockwheel import Action, Clients, ServerError, aio

ACTIONS = [
    Action.drop_request(),
    Action.drop_request(close_after_seconds=1),
    Action.drop_reply(),
    Action.drop_reply(close_after_seconds=0.5),
    Action.delay(1),
    Action.delay(1, jitter_seconds=0.5),
    Action.delay_reply(0.001),
    Action.delay_reply(0.002, jitter_seconds=0.001),
    Action.hold(),
    Action.hold_reply(),
    Action.error("ERR as asked"),
    Action.reply_null(),
    Action.reply_ok(),
    Action.reply_int(-1),
    Action.reply_bulk("text"),
    Action.reply_raw(b"$x"),
    Action.close(),
    Action.close_after(),
    Action.reset(),
    Action.reset_after(),
    Action.slice(3),
    Action.slice(3, every_seconds=0.001),
    Action.bandwidth(64),
    Action.truncate(3),
    Action.duplicate(),
    Action.lose_publish(),
    Action.no_script(),
    Action.expire(),
    Action.arg_add(2, -1),
    Action.time_shift(),
]


def client_of(server, name="worker"):
    return redis.Redis.from_url(server.url, decode_responses=True, client_name=name, retry=None)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: "-".join(map(str, action.words)))
def test_the_server_knows_every_action(own, action):
    own.faults.add("rule", action, on="GET")
    words = [word.decode() if isinstance(word, bytes) else str(word) for word in action.words]
    assert own.faults.list()[0].rule == "ON GET DO " + " ".join(words)


def test_there_is_no_other_action():
    made = {action.words[0] for action in ACTIONS}
    methods = [name for name, _ in inspect.getmembers(Action, inspect.ismethod)]
    # Five kinds of REPLY are one word.
    assert len(made) + 4 == len(methods)


def test_what_no_builder_has_made_is_no_action(own):
    with pytest.raises(TypeError, match="one of those that Action makes, not 'hold'"):
        own.faults.add("rule", "hold", on="GET")


def test_a_rule_has_every_matcher(own):
    own.faults.add(
        "all", Action.drop_reply(), on="set", key="order:*", channel="news", arg=(2, "v"), client=Clients.named("w*"),
        result="OK", skip=1, times=2, prob=0.5,
    )  # fmt: skip
    own.faults.add("script", Action.no_script(), script="a" * 40, client=Clients.lib("redis-py"))
    own.faults.add("text", Action.error("ERR no"), contains="hincrby", client=Clients.id(7))
    first, *rest = own.faults.list()
    assert (first.name, first.matched, first.skipped, first.hits, first.left, first.held) == ("all", 0, 0, 0, 2, 0)
    assert first.rule == (
        "ON set KEY order:* CHANNEL news ARG 2 v CLIENTNAME w* RESULT OK SKIP 1 TIMES 2 PROB 0.5 DO DROPREPLY"
    )
    assert [rule.left for rule in rest] == [None, None]
    assert own.faults.remove("text") and not own.faults.remove("text")
    own.faults.seed(7)
    assert own.faults.clear() == 2 and own.faults.list() == []
    with pytest.raises(ValueError, match="by id, name or lib"):
        own.faults.add("no", Action.hold(), client=Clients.all())
    with pytest.raises(ServerError, match="NOSUCH"):
        own.faults.add("no", Action.hold(), on="NOSUCH")


def test_a_fault_meets_a_client_and_not_the_test(own):
    client = client_of(own)
    own.faults.add("refuse", Action.error("ERR as asked"), on="SET", times=1)
    assert own.command("SET", "k", "test") == "OK"
    with pytest.raises(redis.ResponseError, match="as asked"):
        client.set("k", "client")
    own.await_.fault("refuse")
    assert client.set("k", "client")
    assert own.command("GET", "k") == "client"
    own.faults.exempt(False)
    own.faults.add("again", Action.error("ERR again"), on="GET")
    with pytest.raises(ServerError, match="again"):
        own.command("GET", "k")
    own.reset()
    assert own.command("GET", "k") is None and own.faults.list() == []


def test_an_interleaving_in_a_wished_order(own):
    """Of two clients that read and write, both have read before one writes: an update is lost."""
    own.command("SET", "n", "0")
    own.faults.add("writes", Action.hold(), on="SET")

    def increment(name):
        client = client_of(own, name)
        client.set("n", str(int(client.get("n")) + 1))

    threads = [threading.Thread(target=increment, args=(f"t{n}",)) for n in range(2)]
    for thread in threads:
        thread.start()
    own.await_.held("writes", 2)
    assert own.command("GET", "n") == "0"
    assert own.faults.go("writes", 1) == 1
    own.await_.held("writes", 1)
    assert own.faults.go("writes") == 1
    for thread in threads:
        thread.join()
    assert own.command("GET", "n") == "1"


def test_a_delay_is_of_the_turned_clock(own):
    own.faults.add("slow", Action.delay(5), on="SET")
    thread = threading.Thread(target=client_of(own).set, args=("k", "v"))
    thread.start()
    own.await_.fault("slow")
    assert own.command("EXISTS", "k") == 0
    own.clock.advance(5)
    thread.join()
    assert own.command("EXISTS", "k") == 1


def test_clients_freeze_and_are_cut_off(own):
    client = client_of(own, "frozen")
    client.ping()
    assert own.faults.freeze_client(Clients.named("frozen")) == 1
    thread = threading.Thread(target=client.set, args=("k", "v"))
    thread.start()
    assert own.faults.thaw_client(Clients.named("frozen")) == 1
    thread.join()
    assert own.faults.partition(Clients.all()) >= 1
    thread = threading.Thread(target=client.set, args=("k", "again"))
    thread.start()
    assert own.command("GET", "k") == "v", "the test itself is not cut off"
    assert own.faults.heal() == 1
    thread.join()
    assert own.command("GET", "k") == "again"


def test_a_failover_loses_what_no_replica_has(own):
    own.command("SET", "before", "x")
    own.faults.lag()
    own.command("SET", "after", "x")
    own.faults.failover()
    assert own.command("EXISTS", "before", "after") == 1
    own.faults.lag(key="order:*")
    own.command("MSET", "order:1", "x", "other", "x")
    own.faults.failover(tokens=True)
    assert own.command("EXISTS", "order:1", "other") == 1


def test_a_restart_forgets_and_lets_nobody_in(own):
    client = client_of(own)
    client.set("k", "v")
    own.faults.restart(down_seconds=5)
    with pytest.raises((redis.ConnectionError, redis.TimeoutError)):
        client.get("k")
    own.clock.advance(5)
    assert client.get("k") is None
    own.faults.restart(tokens=True)
    assert own.command("DBSIZE") == 0


def test_a_restart_can_keep_the_data(own):
    client = client_of(own)
    client.set("k", "v")
    own.faults.restart(down_seconds=5, keep=True)
    with pytest.raises((redis.ConnectionError, redis.TimeoutError)):
        client.get("k")
    own.clock.advance(5)
    assert client.get("k") == "v"


def test_a_raw_reply_is_sent_as_it_is(own):
    own.faults.add("raw", Action.reply_raw(b"+raw\r\n"), on="GET")
    assert client_of(own).get("k") == "raw"


@pytest.mark.parametrize("time", ["real", "manual"])
@pytest.mark.parametrize("is_exempt", [True, False])
@pytest.mark.parametrize("fault", ["partition", "restart"])
def test_a_fault_that_a_test_leaves_is_told_of_and_ends_with_it(fault, is_exempt, time):
    with package.Server(time=time, verify="violation") as server:
        client_of(server).set("lock", "me", nx=True, px=60_000)
        server.faults.exempt(is_exempt)
        if fault == "partition":
            server.faults.partition(Clients.all())
        else:
            server.faults.restart(down_seconds=3600)
        server.check()
        told = server.report()
        assert "acquired lock" in told and f"FAULT.{fault.upper()}" in told and "Error" not in told
        server.reset()
        assert server.command("DBSIZE") == 0
        assert client_of(server).ping()


def test_a_fault_that_a_test_leaves_is_told_of_for_asyncio():
    async def main():
        async with aio.Server(verify="violation") as server:
            await server.faults.exempt(False)
            await server.faults.partition(Clients.all())
            await server.check()
            assert "FAULT.PARTITION" in await server.report()
            await server.reset()
            assert await server.command("DBSIZE") == 0

    asyncio.run(main())


def test_the_same_for_asyncio():
    async def main():
        async with aio.Server(time="manual") as server:
            client = redis.asyncio.Redis.from_url(server.url, decode_responses=True)
            await server.faults.add("writes", Action.hold(), on="SET")
            task = asyncio.ensure_future(client.set("k", "v"))
            await server.await_.held("writes")
            assert [rule.held for rule in await server.faults.list()] == [1]
            assert await server.faults.go("writes") == 1
            assert await task
            await client.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("name", ["Clock", "Await", "Faults", "History"])
def test_what_blocks_and_what_is_awaited_are_the_same(name):
    def methods(of):
        found = inspect.getmembers(of, inspect.isfunction)
        return {key: inspect.signature(value) for key, value in found if not key.startswith("_")}

    assert methods(getattr(package, name)) == methods(getattr(aio, name))
