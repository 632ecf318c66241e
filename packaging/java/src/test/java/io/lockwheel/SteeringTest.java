package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The clock, waiting for states, and the report. */
class SteeringTest {
    private static final Instant START = Instant.parse("2030-01-01T00:00:00Z");

    private final LockwheelServer server = LockwheelServer.start(new ServerOptions().time(START).seed(42));

    @AfterEach
    void stop() {
        server.stop();
    }

    @Test
    void theClockEndsALease() {
        server.command("SET", "lease", "holder", "PX", 30_000);
        assertEquals(0, server.clock().advance(Duration.ofMillis(29_999)).fired());
        assertEquals("holder", server.command("GET", "lease"));
        ClockAdvance moved = new ClockAdvance(START.plusSeconds(30), 1, true, List.of());
        assertEquals(moved, server.clock().advance(Duration.ofMillis(1)));
        assertNull(server.command("GET", "lease"));
    }

    @Test
    void theClockIsFrozenSteppedSetAndRunsOn() {
        Clock clock = server.clock();
        clock.reset();
        Instant wall = clock.freeze();
        assertEquals(wall.minusSeconds(3600), clock.step(Duration.ofHours(-1)));
        assertEquals(START, clock.set(START));
        ClockInfo info = clock.info();
        assertEquals("manual", info.mode());
        assertEquals(START, info.wall());
        assertNull(info.next());
        assertNotEquals(Duration.ZERO, info.offset());
        clock.resume();
        assertEquals("real", clock.info().mode());
        clock.reset();
        assertEquals(Duration.ZERO, clock.info().offset());
    }

    @Test
    void theClockGoesFromDeadlineToDeadline() {
        for (int lease : new int[] {100, 200, 300}) {
            server.command("SET", "k" + lease, "v", "PX", lease);
        }
        assertEquals(Duration.ofMillis(100), server.clock().info().next());
        assertEquals(3, server.clock().info().timers());
        ClockAdvance first = server.clock().next();
        assertEquals(START.plusMillis(100), first.wall());
        assertEquals(List.of(new Deadline("expiry", "k100")), first.what());
        assertEquals(2, server.clock().next(2).fired());
        assertNull(server.clock().next());
    }

    @Test
    void aTurnSettles() {
        server.command("SET", "k", "v", "PX", 10);
        ClockAdvance moved = server.clock().advance(
                Duration.ofSeconds(1), it -> it.limit(Duration.ofSeconds(1)).settle(Duration.ofMillis(1)).nowake());
        assertEquals(1, moved.fired());
        assertTrue(moved.settled());
    }

    @Test
    void durationsAreWholeMilliseconds() {
        Clock clock = server.clock();
        assertThrows(IllegalArgumentException.class, () -> clock.advance(Duration.ofNanos(1)));
        assertThrows(IllegalArgumentException.class, () -> clock.set(START.plusNanos(1)));
        assertEquals(START, clock.info().wall());
    }

    /** A client that has sent a command and waits for its reply. */
    private Socket waiting(String command) throws IOException {
        Socket client = new Socket(server.host(), server.port());
        client.getOutputStream().write((command + "\r\n").getBytes());
        return client;
    }

    @Test
    void waitingReplacesSleeping() throws IOException {
        try (Socket popping = waiting("BLPOP list 0"); Socket reading = waiting("SUBSCRIBE channel")) {
            server.await().blocked(1);
            server.await().blocked(1, it -> it.key("list"));
            server.await().key("list", KeyState.GONE);
            server.await().subscribers("channel", 1);
            server.await().waiters("lock", 0);
            assertTrue(popping.isConnected() && reading.isConnected());
        }
    }

    @Test
    void aTestGoesOnWhileItWaits() throws Exception {
        CompletableFuture<Void> there = CompletableFuture.runAsync(() -> server.await().key("k", KeyState.EXISTS));
        CompletableFuture<Void> list = CompletableFuture.runAsync(() -> server.await().key("l", KeyState.LIST));
        server.command("SET", "k", "v");
        server.command("RPUSH", "l", "v");
        there.get();
        list.get();
    }

    @Test
    void whoWaitsInVainIsToldWhatTheServerKnows() throws IOException {
        try (Socket client = waiting("BLPOP list 0")) {
            server.await().blocked(1);
            server.command("SET", "order:42", "paid");
            Duration limit = Duration.ofMillis(1);
            String told = assertThrows(
                            AwaitException.class,
                            () -> server.await().key("never", KeyState.EXISTS, it -> it.limit(limit)))
                    .getMessage();
            for (String wanted : new String[] {
                "^AWAIT.KEY never EXISTS LIMIT 1: not within the limit\n",
                "seed 42\nclock:\n {4}mode=manual wall=1893456000000 \\(2030-01-01T00:00:00Z\\) monotonic=\\d+",
                " next=- timers=0\nwaiting:\n",
                "waiting:\n {4}id=\\d+ name= addr=127.0.0.1:" + client.getLocalPort() + " cmd=blpop\n",
                "cmd=blpop\nfaults that acted:\nfindings:\n",
                "127.0.0.1:\\d+: SET order:42 paid\nlog:\n.*Ready to accept connections",
            }) {
                assertTrue(Pattern.compile(wanted).matcher(told).find(), () -> wanted + " is not in\n" + told);
            }
            assertFalse(Pattern.compile(": (AWAIT|CLOCK|CLIENT LIST|SLOWLOG)").matcher(told).find(), told);
        }
    }

    @Test
    void aThreadThatWasInterruptedHasAReport() {
        Thread.currentThread().interrupt();
        String report = server.report();
        assertTrue(Thread.interrupted());
        assertTrue(report.contains("mode=manual"), report);
    }
}
