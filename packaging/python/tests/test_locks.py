"""The typed methods of locks, semaphores, latches and rate limiters."""

import asyncio
from datetime import timedelta

import pytest

import lockwheel
from lockwheel import Action, ServerError


def test_a_lock_is_taken_shown_and_released(own):
    grant = own.locks.acquire("order:42", "alice", lease_seconds=5, data="invoice")
    assert (grant.token, grant.holds, grant.ttl) == (1, 1, timedelta(seconds=5))
    assert own.locks.acquire("order:42", "bob") is None
    taken = own.locks.acquire("order:42", "bob", get_holder=True)
    assert (taken.token, taken.holder, taken.position, taken.data) == (None, "alice", 1, "invoice")

    info = own.locks.info("order:42", full=True)
    assert (info.mode, info.layout, info.ttl) == ("exclusive", "hash", timedelta(seconds=5))
    (holder,) = info.holders
    assert (holder.owner, holder.kind, holder.token, holder.data) == ("alice", "native", 1, "invoice")
    assert (info.waiters, info.delay, info.grants) == ((), None, (1,))
    free = own.locks.info("other")
    assert (free.mode, free.ttl, free.holders, free.grants) == ("free", None, (), ())

    assert own.locks.check("order:42", 1) is True
    own.locks.assert_held("order:42", 1)
    assert own.locks.renew(["order:42"], "alice", timedelta(seconds=9), token=1) == [1]
    assert own.locks.transfer("order:42", "alice", "carol", lease_seconds=7) == 2
    assert own.locks.scan(0, match="order:*").keys == ("order:42",)
    assert own.locks.force_unlock("order:42", owner="carol", reason="test") == 1
    assert own.locks.check("order:42", 1) is False


def test_several_locks_and_their_graph(own):
    grants = own.locks.acquire_all(["a", "b"], "alice", mode="shared")
    assert len(grants.tokens) == 2
    assert own.locks.acquire_all(["b", "c"], "bob", mode="exclusive", get_holder=True).holder == "alice"
    assert own.locks.release_all(["a", "b"], "alice") == [0, 0]
    assert own.locks.acquire_all(["a", "b"], "alice").waited == timedelta(0)
    assert own.locks.graph().locks == ()
    own.locks.acquire("shared", "alice", mode="shared")
    assert own.locks.convert("shared", "alice", "exclusive").token is not None
    assert own.locks.graph_dot().startswith("digraph")
    own.locks.fence("disk", 3)
    assert own.locks.fence_info("disk").highest == 3
    assert own.locks.fence_info("other") is None
    assert list(own.locks.fences()) == ["disk"]
    assert own.locks.fence_reset() == 1
    assert own.locks.cancel("a", "bob") == 0
    assert own.history.stats(key="a").holds == 2


def test_semaphores_latches_and_rates(own):
    assert own.semaphores.init("pool", 3) is True
    permits = own.semaphores.acquire("pool", "alice", permits=2, lease_seconds=5, ids=True)
    assert (permits.permits, permits.left, len(permits.ids)) == (2, 1, 2)
    assert own.semaphores.acquire("pool", "bob", permits=2) is None
    info = own.semaphores.info("pool")
    assert (info.layout, info.left, info.held) == ("ids", 1, 2)
    assert {holder.ttl for holder in info.holders} == {timedelta(seconds=5)}
    assert own.semaphores.renew("pool", permits.ids[0], 9) is True
    assert own.semaphores.release("pool", "alice", ids=permits.ids) == 3
    assert (own.semaphores.adjust("pool", -1), own.semaphores.drain("pool")) == (2, 2)

    assert own.latches.set("start", 2) is True
    assert own.latches.wait("start") is None
    assert (own.latches.count_down("start"), own.latches.get("start")) == (1, 1)
    own.latches.count_down("start", 1)
    assert own.latches.wait("start").state == "absent"

    assert own.rates.set("mail", 1, 60) is True
    assert own.rates.acquire("mail").allowed is True
    refused = own.rates.acquire("mail")
    assert (refused.allowed, refused.retry_after) == (False, timedelta(seconds=60))
    assert own.rates.throttle("api", 0, 1, 60).limited is False


def test_faults_meet_locks_as_they_meet_commands(own):
    own.faults.add("refuse", Action.error("BUSY now"), on="lock.acquire")
    assert own.locks.acquire("a", "alice") is not None
    own.faults.exempt(False)
    with pytest.raises(ServerError, match="BUSY now"):
        own.locks.acquire("a", "alice")


def test_asyncio_has_the_same():
    async def main():
        async with lockwheel.aio.Server(time="manual") as server:
            grant = await server.locks.acquire("a", "alice", lease_seconds=timedelta(seconds=5))
            waits = asyncio.ensure_future(server.locks.acquire("a", "bob", block_seconds=0))
            await server.await_.waiters("a", 1)
            (waiter,) = (await server.locks.info("a")).waiters
            assert (waiter.owner, waiter.kind) == ("bob", "native")
            await server.clock.advance(5)
            assert (await waits).token == grant.token + 1

    asyncio.run(main())


def test_options_of_the_program_have_types():
    with lockwheel.Server(lock_history_max=100, lock_jeopardy_seconds=0.5, lock_ledger=False, threads=2) as server:
        told = [server.command("CONFIG", "GET", name)[1] for name in ("lock-history-max", "lock-jeopardy", "lock-ledger")]
        assert told == ["100", "500", "no"]


def test_words_are_checked(own):
    with pytest.raises(ValueError, match="mode is one of SHARED, EXCLUSIVE, not 'SHARD'; did you mean 'SHARED'?"):
        own.locks.convert("a", "alice", "SHARD")
    with pytest.raises(TypeError, match="keys are a list of texts, not 'a'"):
        own.locks.release_all("a", "alice")
