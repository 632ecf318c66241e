package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** A topology one of whose servers is down. */
class FailoverTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private static LockwheelServer start(String topology, String... args) {
        return LockwheelServer.start(new ServerOptions().topology(topology).time("manual").args(args));
    }

    private static List<InetSocketAddress> address(LockwheelServer server, int place) {
        Member member = server.servers().get(place);
        return List.of(new InetSocketAddress(member.host(), member.port()));
    }

    /** A command goes to the server at this place. */
    private static void assertAnsweredBy(LockwheelServer server, int place) {
        String port = Integer.toString(server.servers().get(place).port());
        assertEquals(List.of("port", port), server.command("CONFIG", "GET", "port"));
    }

    @Test
    void withoutItsMasterATopologyIsSteered() {
        try (LockwheelServer server = start("sentinel 3 --replicas 1")) {
            server.command("SET", "k", "v");
            server.faults().down(0);
            assertAnsweredBy(server, 1);
            server.clock().advance(MINUTE);
            assertEquals(MINUTE, server.clock().info().monotonic());
            assertEquals("v", server.command("GET", "k"));
            assertEquals("OK", server.command("SET", "k", "w"), "the replica is the master now");
            server.await().key("k", KeyState.EXISTS);
            server.faults().add("refuse", Action.error("ERR as asked"), it -> it.on("GET"));
            assertEquals(1, server.faults().list().size());
            server.history().mark("the master is down");
            assertFalse(server.history().entries().entries().isEmpty());
            assertTrue(server.verify().events() > 0);
            String report = server.report();
            Member replica = server.servers().get(1);
            String title = "lockwheel on 127.0.0.1:" + server.port() + ", seed 0\n"
                    + "server 0 is down: server 1 (127.0.0.1:" + replica.port() + ") tells\nclock:\n    mode=manual ";
            assertTrue(report.startsWith(title) && report.contains("text=the master is down"), report);
            assertTrue(server.faults().up(0));
            assertFalse(server.faults().up(0));
            assertAnsweredBy(server, 0);
            assertFalse(server.report().contains("server 0 is down"), "it is there again");
        }
    }

    @Test
    void aServerThatHangsInAScriptIsKilled() {
        try (LockwheelServer server = start("sentinel 3 --replicas 1", "--busy-reply-threshold", "1");
                Connection hanging = new Connection(address(server, 0), null, false);
                Connection client = new Connection(address(server, 0), null, false)) {
            CompletableFuture<Object> script =
                    CompletableFuture.supplyAsync(() -> hanging.send("EVAL", "while true do end", 0));
            String busy = assertThrows(ReplyException.class, () -> {
                        while (true) {
                            client.send("PING");
                        }
                    })
                    .code();
            assertEquals("BUSY", busy);
            server.faults().down(0);
            assertThrows(CompletionException.class, script::join);
            assertAnsweredBy(server, 1);
        }
    }

    @Test
    void aServerThatComesBackByTheClockIsAskedAgain() {
        try (LockwheelServer server = start("cluster 3x1", "--requirepass", "secret")) {
            server.faults().exempt(false);
            server.faults().down(0, it -> it.backAfter(Duration.ofSeconds(5)));
            assertAnsweredBy(server, 1);
            server.faults().down(1, it -> it.backAfter(Duration.ofSeconds(5)));
            assertAnsweredBy(server, 2);
            server.clock().advance(Duration.ofSeconds(5));
            assertAnsweredBy(server, 0);
        }
    }

    @Test
    void anAwaitGoesOnAtAnotherServer() {
        try (LockwheelServer server = start("sentinel 3 --replicas 1")) {
            CompletableFuture<Void> awaited =
                    CompletableFuture.runAsync(() -> server.await().key("k", KeyState.EXISTS, it -> it.limit(MINUTE)));
            try (Connection client = new Connection(address(server, 0), null, false)) {
                while (!((String) client.send("CLIENT", "LIST")).contains(" cmd=await.key ")) {
                    Thread.onSpinWait();
                }
            }
            server.faults().down(0);
            server.clock().advance(MINUTE);
            server.command("SET", "k", "v");
            awaited.join();
        }
    }

    /** A request that was cut may have been executed: only what the package sends by itself is sent again. */
    @Test
    void aCommandIsNotSentTwice() {
        try (LockwheelServer server = start("replicas 1")) {
            server.faults().exempt(false);
            server.faults().add("cut", Action.closeAfter(), it -> it.on("INCR"));
            assertThrows(UncheckedIOException.class, () -> server.command("INCR", "k"));
            assertEquals("1", server.command("GET", "k"));
        }
    }

    @Test
    void withoutAnyServerTheErrorIsOfTheFirst() {
        LockwheelServer server = start("replicas 1");
        server.stop();
        UncheckedIOException error = assertThrows(UncheckedIOException.class, () -> server.command("PING"));
        assertTrue(error.getMessage().contains(":" + server.port() + ": "), error.getMessage());
    }
}
