"""Several servers in one process, on one clock."""

import threading

import pytest
import redis
from redis.cluster import ClusterNode
from redis.exceptions import ReadOnlyError

from lockwheel import Action, Server, ServerError, StartError, aio


def test_replicas_have_what_their_master_has():
    with Server(topology="replicas 2", time="manual") as server:
        assert [one.role for one in server.servers] == ["master", "replica", "replica"]
        master, *replicas = [redis.Redis.from_url(one.url, decode_responses=True) for one in server.servers]
        assert server.servers[0].port == server.port
        master.set("k", "v")
        assert [replica.get("k") for replica in replicas] == ["v", "v"]
        with pytest.raises(ReadOnlyError):
            replicas[0].set("k", "w")
        # One clock: the first one's is that of all.
        master.set("lease", "holder", px=1000)
        server.clock.advance(1)
        assert [replica.get("lease") for replica in replicas] == [None, None]
        with pytest.raises(RuntimeError, match="not reset"):
            server.reset()


def test_a_lock_that_had_not_arrived_is_lost_by_a_failover():
    with Server(topology="replicas 1 --lag 100", time="manual") as server:
        master, replica = [redis.Redis.from_url(one.url, decode_responses=True) for one in server.servers]
        assert master.set("order", "first", nx=True, px=10000)
        server.command("FAULT.FAILOVER", 1)
        assert replica.set("order", "second", nx=True, px=10000)
        findings = server.verify(level="violation").findings
        assert [finding.invariant for finding in findings] == ["mutual-exclusion"]


def test_servers_fail_by_method():
    with Server(topology="replicas 2", time="manual") as server:
        master, one, two = [redis.Redis.from_url(one.url, decode_responses=True) for one in server.servers]
        server.faults.lag_by(0.1)
        master.set("k", "v")
        assert one.get("k") is None
        server.clock.advance(0.1)
        assert [one.get("k"), two.get("k")] == ["v", "v"]
        assert server.faults.part([2], [0]) > 0
        master.set("k", "w")
        server.clock.advance(0.1)
        assert [one.get("k"), two.get("k")] == ["w", "v"]
        assert server.faults.part_from_clients([2], "IN") > 0
        server.faults.heal()
        server.faults.failover_to(1, tokens=True)
        assert one.set("k", "x")
        server.faults.down(2)
        with pytest.raises(redis.ConnectionError):
            two.get("k")
        assert server.faults.up(2)
        assert not server.faults.up(2)
        server.faults.down(2, back_after_seconds=5)
        server.clock.advance(5)
        assert two.ping()


def test_a_server_that_is_killed_can_keep_its_data():
    with Server(topology="replicas 1", time="manual") as server:
        server.command("SET", "k", "v")
        server.faults.down(0, keep=True)
        assert server.faults.up(0)
        assert server.command("GET", "k") == "v"
        server.faults.down(0, back_after_seconds=5, keep=True)
        server.clock.advance(5)
        assert server.command("GET", "k") == "v"
        server.faults.down(0)
        assert server.faults.up(0)
        assert server.command("GET", "k") is None


def test_a_client_of_clusters_finds_all_nodes():
    with Server(topology="cluster 3x1", args=["--requirepass", "secret word"]) as server:
        first = server.servers[0]
        nodes = [ClusterNode(first.host, first.port)]
        client = redis.RedisCluster(startup_nodes=nodes, password="secret word", decode_responses=True)
        for number in range(100):
            client.set(f"k{number}", number)
        assert [client.get(f"k{number}") for number in range(100)] == [str(number) for number in range(100)]
        assert {node.port for node in client.get_nodes()} == {one.port for one in server.servers}
        assert redis.Redis.from_url(server.servers[5].url).ping()
        client.close()


def test_sentinels_tell_where_the_master_is():
    with Server(topology="sentinel 3 --replicas 2", time="manual", seed=7) as server:
        sentinels = [(one.host, one.port) for one in server.servers if one.role == "sentinel"]
        assert len(sentinels) == 3
        watched = redis.sentinel.Sentinel(sentinels)
        assert watched.discover_master("mymaster") == (server.host, server.port)
        redis.Redis.from_url(server.servers[1].url).execute_command("FAULT.DOWN", 0)
        # A replica that takes over cuts its clients; a sentinel does not.
        redis.Redis.from_url(server.servers[3].url).execute_command("CLOCK.ADVANCE", 60000)
        assert watched.discover_master("mymaster")[1] in {one.port for one in server.servers[1:3]}


def port(server):
    return server.command("CONFIG", "GET", "port")[1]


def test_control_goes_to_a_server_that_lives():
    with Server(topology="sentinel 3 --replicas 1", time="manual", seed=7) as server:
        ports = [str(one.port) for one in server.servers]
        server.command("SET", "k", "v")
        assert port(server) == ports[0]
        server.faults.down(0)
        assert port(server) == ports[1]
        server.await_.key("k", "EXISTS", limit_seconds=30)
        assert server.command("ROLE")[0] == "slave"
        assert server.clock.advance(60, settle_seconds=0.001).settled  # the replica takes over meanwhile
        assert server.command("ROLE")[0] == "master"
        server.command("SET", "k", "w")
        assert server.verify().verdict == "ok"
        assert [entry.fault for entry in server.history.entries().entries if entry.fault] == ["FAULT.DOWN 0"]
        server.faults.add("rule", Action.error("ERR no"), on="GET")
        assert [rule.name for rule in server.faults.list()] == ["rule"]
        told = server.report().splitlines()
        assert told[:2] == [
            f"lockwheel on {server.servers[0].address}, seed 7",
            f"server 0 is down: server 1 ({server.servers[1].address}) tells",
        ]
        assert not any("Connection" in line for line in told[:12])
        assert server.faults.up(0)
        assert port(server) == ports[0]
        assert server.faults.list() == []
        assert "is down" not in server.report()


def test_a_wait_goes_on_at_another_server_when_its_own_is_killed():
    with Server(topology="replicas 1") as server:
        waited = []
        waits = threading.Thread(target=lambda: waited.append(server.await_.key("k", "EXISTS", limit_seconds=60)))
        waits.start()
        first, second = (redis.Redis.from_url(one.url) for one in server.servers)
        while all(client["cmd"] != "await.key" for client in first.client_list()):
            pass
        server.faults.down(0)
        second.execute_command("REPLICAOF", "NO", "ONE")
        assert second.set("k", "v")
        waits.join()
        assert waited == [None]


def test_the_last_one_that_lives_is_not_killed():
    with Server(topology="cluster 3x1", time="manual", seed=7) as server:
        ports = [str(one.port) for one in server.servers]
        for place in range(5):
            server.faults.down(place)
            assert port(server) == ports[place + 1]
        with pytest.raises(ServerError, match="the last running server"):
            server.faults.down(5)
        assert server.faults.up(3)
        server.clock.advance(1)
        assert port(server) == ports[3]


def test_a_transaction_is_not_disturbed_by_the_look_for_a_server_that_lives():
    with Server(topology="replicas 1") as server:
        server.command("MULTI")
        server.command("INCR", "n")
        server.command(b"incr", "n")
        assert server.command("EXEC") == [1, 2]
        assert server.command("INCR", "n") == 3


def test_an_endless_script_does_not_keep_its_server_from_being_killed():
    with Server(topology="replicas 1", args=["--busy-reply-threshold", "1"]) as server:
        client = redis.Redis.from_url(server.url)
        script = threading.Thread(target=fails, args=(client.eval, "while true do end", 0))
        script.start()
        busy = redis.Redis.from_url(server.url)
        while not fails(busy.get, "k"):
            pass
        server.faults.down(0)
        script.join()
        assert port(server) == str(server.servers[1].port)


def fails(ask, *arguments):
    """Whether a client's request fails."""
    try:
        ask(*arguments)
    except redis.RedisError:
        return True
    return False


@pytest.mark.parametrize("empty", ["", " "])
def test_a_topology_without_a_word_is_refused(empty):
    with pytest.raises(ValueError, match="topology is 'replicas N', .*, not ' ?'"):
        Server(topology=empty)


def test_what_is_no_topology_is_refused():
    with pytest.raises(StartError, match="masters x replicas"):
        Server(topology="cluster x")
    with pytest.raises(StartError, match="There is no topology 'sentinels 3'.*Did you mean 'sentinel 3'"):
        Server(topology="sentinels 3")
    with Server() as alone:
        assert alone.servers == []


@pytest.mark.lockwheel(topology="replicas 1", time="manual")
def test_the_fixture_has_topologies(lockwheel):
    assert [one.role for one in lockwheel.servers] == ["master", "replica"]
    assert lockwheel.servers[1].address == f"127.0.0.1:{lockwheel.servers[1].port}"


def test_the_same_for_asyncio():
    import asyncio

    async def roles():
        async with aio.Server(topology="replicas 1") as server:
            await server.faults.down(0)
            assert await server.command("CONFIG", "GET", "port") == ["port", str(server.servers[1].port)]
            assert await server.faults.up(0)
            assert await server.command("CONFIG", "GET", "port") == ["port", str(server.port)]
            return [one.role for one in server.servers]

    assert asyncio.run(roles()) == ["master", "replica"]
