package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.junit.Lockwheel;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Several servers in one process, on one clock. */
@Lockwheel(topology = "replicas 2", time = "manual")
class TopologyTest {
    /** Asks one of the servers, as a client does. */
    private static Object ask(Member member, Object... command) {
        InetSocketAddress address = new InetSocketAddress(member.host(), member.port());
        try (Connection client = new Connection(List.of(address), null, false)) {
            return client.send(command);
        }
    }

    private static List<String> roles(LockwheelServer server) {
        return server.servers().stream().map(Member::role).toList();
    }

    @Test
    void aServerThatIsKilledCanKeepItsData() {
        try (LockwheelServer server =
                LockwheelServer.start(new ServerOptions().topology("replicas 1").time("manual"))) {
            server.command("SET", "k", "v");
            server.faults().down(0, it -> it.keep());
            assertTrue(server.faults().up(0));
            assertEquals("v", server.command("GET", "k"));
            server.faults().down(0, it -> it.keep().backAfter(Duration.ofSeconds(5)));
            server.clock().advance(Duration.ofSeconds(5));
            assertEquals("v", server.command("GET", "k"));
            server.faults().down(0);
            assertTrue(server.faults().up(0));
            assertNull(server.command("GET", "k"));
        }
    }

    @Test
    void replicasHaveWhatTheirMasterHasOnOneClock(LockwheelServer server) {
        assertEquals(List.of("master", "replica", "replica"), roles(server));
        Member replica = server.servers().get(2);
        assertEquals("redis://127.0.0.1:" + replica.port(), replica.url());
        assertEquals(server.port(), server.servers().get(0).port());
        server.command("SET", "k", "v", "PX", 1000);
        assertEquals("v", ask(replica, "GET", "k"));
        assertEquals("READONLY", assertThrows(ReplyException.class, () -> ask(replica, "SET", "k", "w")).code());
        server.clock().advance(Duration.ofSeconds(1));
        assertNull(ask(replica, "GET", "k"));
        assertThrows(IllegalStateException.class, server::reset);
    }

    @Test
    void eachTestHasOneOfItsOwn(LockwheelServer server) {
        assertEquals(0L, server.command("DBSIZE"));
        server.command("REPLICAOF", "127.0.0.1", server.servers().get(1).port());
    }

    @Test
    void eachTestHasOneOfItsOwnAgain(LockwheelServer server) {
        eachTestHasOneOfItsOwn(server);
    }

    @Test
    @Lockwheel(topology = "replicas 1 --lag 100", time = "manual")
    void aLockThatHadNotArrivedIsLostByAFailover(LockwheelServer server) {
        server.command("SET", "order", "first", "NX", "PX", 10_000);
        server.command("FAULT.FAILOVER", 1);
        assertEquals("OK", ask(server.servers().get(1), "SET", "order", "second", "NX", "PX", 10_000));
        List<Finding> findings = server.verify(it -> it.level(Level.VIOLATION)).findings();
        assertEquals(List.of("mutual-exclusion"), findings.stream().map(Finding::invariant).toList());
    }

    @Test
    @Lockwheel(topology = "replicas 2", time = "manual")
    void serversFailByMethod(LockwheelServer server) {
        Duration lag = Duration.ofMillis(100);
        List<Member> members = server.servers();
        server.faults().lagBy(lag);
        server.command("SET", "k", "v");
        assertNull(ask(members.get(1), "GET", "k"));
        server.clock().advance(lag);
        assertTrue(server.faults().part(List.of(2), List.of(0)) > 0);
        server.command("SET", "k", "w");
        server.clock().advance(lag);
        assertEquals(List.of("w", "v"), List.of(ask(members.get(1), "GET", "k"), ask(members.get(2), "GET", "k")));
        server.faults().partFromClients(List.of(2), Direction.IN);
        server.faults().heal();
        server.faults().failoverTo(1, it -> it.tokens());
        assertEquals("OK", ask(members.get(1), "SET", "k", "x"));
        server.faults().down(2);
        assertTrue(server.faults().up(2));
        server.faults().down(2, it -> it.backAfter(Duration.ofSeconds(5)));
        server.clock().advance(Duration.ofSeconds(5));
        assertFalse(server.faults().up(2));
    }

    @Test
    @Lockwheel(topology = "cluster 3x1", args = {"--requirepass", "secret"})
    void theNodesOfAClusterAreTold(LockwheelServer server) {
        assertEquals(6, server.servers().size());
        Member last = server.servers().get(5);
        assertEquals("redis://:secret@127.0.0.1:" + last.port(), last.url());
        assertTrue(server.command("CLUSTER", "INFO").toString().contains("cluster_known_nodes:6"));
    }

    @Test
    @Lockwheel(topology = "sentinel 3")
    void sentinelsTellWhereTheMasterIs(LockwheelServer server) {
        assertEquals(List.of("master", "replica", "sentinel", "sentinel", "sentinel"), roles(server));
        Object told = ask(server.servers().get(4), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster");
        assertEquals(List.of("127.0.0.1", Integer.toString(server.port())), told);
    }

    @Test
    void whatIsNoTopologyIsRefused() {
        for (String empty : List.of("", " ")) {
            String refused = assertThrows(
                            IllegalArgumentException.class, () -> new ServerOptions().topology(empty))
                    .getMessage();
            assertTrue(refused.startsWith("topology is 'replicas N', "), refused);
        }
        ServerOptions wrong = new ServerOptions().topology("cluster x");
        String said = assertThrows(StartException.class, () -> LockwheelServer.start(wrong)).getMessage();
        assertTrue(said.contains("masters x replicas"), said);
        try (LockwheelServer alone = LockwheelServer.start()) {
            assertEquals(List.of(), alone.servers());
        }
    }
}
