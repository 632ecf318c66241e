"""The server for asyncio."""

import asyncio
import subprocess
import sys
from datetime import timedelta

import pytest
import redis.asyncio

from lockwheel import AwaitTimeoutError, ServerError, aio


def test_all_of_it_can_be_awaited():
    async def main():
        async with aio.Server(time="manual") as server:
            client = redis.asyncio.Redis.from_url(server.url, decode_responses=True)
            wait = asyncio.ensure_future(client.blpop("queue", timeout=30))
            await server.await_.blocked(1, key="queue")
            assert (await server.clock.advance(timedelta(seconds=30))).fired == 1
            assert await wait is None
            await client.set("lock", "me", px=8000)
            assert (await server.clock.info()).next == timedelta(seconds=8)
            assert (await server.clock.next()).fired == 1
            await server.await_.key("lock", "GONE")
            with pytest.raises(AwaitTimeoutError, match="AWAIT.KEY lock EXISTS"):
                await server.await_.key("lock", "EXISTS", limit_seconds=0.02)
            with pytest.raises(ServerError):
                await server.command("NO")
            assert "SET lock me PX 8000" in await server.report()
            await client.aclose()
        assert not server.is_running

    asyncio.run(main())


def test_it_is_there_with_the_package():
    program = "import lockwheel, asyncio; asyncio.run(lockwheel.aio.Server().stop())"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_server_is_awaited():
    async def main():
        server = await aio.Server(seed=5)
        assert await server.command("PING") == "PONG"
        assert server.url == server.blocking.url
        await server.stop()

    asyncio.run(main())
    with pytest.raises(RuntimeError, match="has not started"):
        _ = aio.Server().url


def test_tasks_ask_side_by_side():
    async def main():
        async with aio.Server() as server:
            wait = asyncio.ensure_future(server.await_.key("k", "EXISTS", limit_seconds=60))
            await server.command("SET", "k", "v")
            await wait
            replies = await asyncio.gather(*(server.command("ECHO", n) for n in range(50)))
            assert replies == [str(n) for n in range(50)]

    asyncio.run(main())


def test_a_request_that_is_cancelled_leaves_a_good_server():
    async def main():
        async with aio.Server() as server:
            wait = asyncio.ensure_future(server.command("BLPOP", "queue", 0))
            await server.await_.blocked(1)
            wait.cancel()
            with pytest.raises(asyncio.CancelledError):
                await wait
            await server.command("RPUSH", "queue", "v")
            assert await server.command("LRANGE", "queue", 0, -1) == ["v"]

    asyncio.run(main())


def test_one_server_serves_one_loop_after_the_other(own):
    server = aio.Server.of(own)

    async def main(number):
        return await server.command("APPEND", "k", number)

    assert [asyncio.run(main(n)) for n in range(3)] == [1, 2, 3]
    assert own.command("GET", "k") == "012"


def test_clients_of_the_same_loop_react_at_the_instant_that_they_are_told_at():
    async def main():
        async with aio.Server(time="manual") as server:
            client = redis.asyncio.Redis.from_url(server.url, decode_responses=True)

            async def waits():
                assert await client.blpop("queue", timeout=1) is None
                await client.set("after", "x", px=1000)

            task = asyncio.ensure_future(waits())
            await server.await_.blocked(1)
            turn = await server.clock.advance(10, settle_seconds=0.2, limit_seconds=60)
            await task
            assert turn.settled is True and turn.fired == 2, "what the client began at its instant has ended too"
            await client.aclose()

    asyncio.run(main())
