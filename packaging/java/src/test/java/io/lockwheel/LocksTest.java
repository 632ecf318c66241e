package io.lockwheel;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The typed methods of locks, semaphores, latches and rate limiters. */
class LocksTest {
    private static final Duration LEASE = Duration.ofSeconds(5);
    private final LockwheelServer server = LockwheelServer.start(new ServerOptions().time("manual"));
    private final Locks locks = server.locks();

    @AfterEach
    void stop() {
        server.stop();
    }

    @Test
    void aLockIsTakenShownAndReleased() {
        Grant grant = locks.acquire("order:42", "alice", it -> it.lease(LEASE).data("invoice"));
        assertEquals(List.of(1L, 1L), List.of(grant.token(), grant.holds()));
        assertEquals(LEASE, grant.ttl());
        assertNull(locks.acquire("order:42", "bob"));
        Grant taken = locks.acquire("order:42", "bob", it -> it.getHolder());
        assertNull(taken.token());
        assertEquals("alice", taken.holder());

        LockInfo info = locks.info("order:42", it -> it.full());
        assertEquals(List.of("exclusive", "hash", LEASE), List.of(info.mode(), info.layout(), info.ttl()));
        assertEquals(List.of(1L), info.grants());
        assertEquals("invoice", info.holders().get(0).data());
        assertNull(locks.info("other").ttl());

        assertTrue(locks.check("order:42", 1));
        assertEquals(List.of(1L), locks.renew(List.of("order:42"), "alice", LEASE, it -> it.token(1)));
        assertEquals(2, locks.transfer("order:42", "alice", "carol"));
        assertEquals(new LockPage(0, List.of("order:42")), locks.scan(0, it -> it.match("order:*")));
        assertThrows(ReplyException.class, () -> locks.assertHeld("order:42", 1));
        assertEquals(1, locks.forceUnlock("order:42", it -> it.owner("carol")));
    }

    @Test
    void severalLocksFencesAndFigures() {
        assertEquals(2, locks.acquireAll(List.of("a", "b"), "alice", it -> it.mode(Locks.Mode.SHARED)).tokens().size());
        assertEquals(List.of(0L, 0L), locks.releaseAll(List.of("a", "b"), "alice"));
        assertEquals(new LockGraph(List.of(), 0, List.of()), locks.graph());
        assertTrue(locks.graphDot().startsWith("digraph"));
        locks.fence("disk", 3);
        assertEquals(3, locks.fenceInfo("disk").highest());
        assertNull(locks.fenceInfo("other"));
        assertEquals(3, locks.fences().get("disk").highest());
        assertEquals(1, locks.fenceReset("disk"));
        LockStats stats = server.history().stats(it -> it.key("a"));
        assertEquals(1, stats.holds());
        assertNull(stats.waitP50());
    }

    @Test
    void aWaitForALockEndsWithItsLease() {
        locks.acquire("a", "alice", it -> it.lease(LEASE));
        CompletableFuture<Grant> waits =
                CompletableFuture.supplyAsync(() -> locks.acquire("a", "bob", it -> it.block(Duration.ZERO)));
        server.await().waiters("a", 1);
        server.clock().advance(LEASE);
        assertEquals(2, waits.join().token());
    }

    @Test
    void semaphoresLatchesAndRates() {
        Semaphores semaphores = server.semaphores();
        assertTrue(semaphores.init("pool", 3));
        Permits permits = semaphores.acquire("pool", "alice", it -> it.permits(2).lease(LEASE).ids());
        assertEquals(1, permits.left());
        assertEquals(LEASE, semaphores.info("pool").holders().get(0).ttl());
        assertEquals(3, semaphores.release("pool", "alice", it -> it.ids(permits.ids())));

        Latches latches = server.latches();
        assertTrue(latches.set("start", 2));
        assertNull(latches.await("start"));
        assertEquals(List.of(1L, 0L), List.of(latches.countDown("start"), latches.countDown("start", 1)));
        assertEquals("absent", latches.await("start").state());

        Rates rates = server.rates();
        assertTrue(rates.set("mail", 1, Duration.ofMinutes(1)));
        assertTrue(rates.acquire("mail").allowed());
        assertEquals(Duration.ofMinutes(1), rates.acquire("mail", 1).retryAfter());
        assertFalse(rates.throttle("api", 0, 1, Duration.ofMinutes(1)).limited());
        assertThrows(IllegalArgumentException.class, () -> rates.throttle("api", 0, 1, Duration.ofMillis(1500)));
    }

    @Test
    void optionsOfTheProgramHaveTypes() {
        ServerOptions options = new ServerOptions().lockHistoryMax(100).lockLedger(false).threads(2);
        try (LockwheelServer other = LockwheelServer.start(options.lockJeopardy(Duration.ofMillis(500)))) {
            assertEquals(List.of("lock-history-max", "100"), other.command("CONFIG", "GET", "lock-history-max"));
            assertEquals(List.of("lock-jeopardy", "500"), other.command("CONFIG", "GET", "lock-jeopardy"));
            assertEquals(List.of("lock-ledger", "no"), other.command("CONFIG", "GET", "lock-ledger"));
        }
    }
}
