package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The typed methods of locks, semaphores, latches and rate limiters. */
class LocksTest {
    private static final Duration LEASE = Duration.ofSeconds(5);

    private final LockwheelServer server =
            LockwheelServer.start(new ServerOptions().time(Instant.parse("2030-01-01T00:00:00Z")));
    private final Locks locks = server.locks();

    @AfterEach
    void stop() {
        server.stop();
    }

    @Test
    void aLockIsTakenShownAndReleased() {
        Grant grant = locks.acquire("order:42", "alice", it -> it.lease(LEASE).data("invoice"));
        assertEquals(List.of(1L, 1L, LEASE), List.of(grant.token(), grant.holds(), grant.ttl()));
        assertNull(locks.acquire("order:42", "bob"));
        Grant taken = locks.acquire("order:42", "bob", it -> it.getHolder());
        assertNull(taken.token());
        assertEquals(List.of("alice", 1L, "invoice"), List.of(taken.holder(), taken.position(), taken.data()));

        LockInfo info = locks.info("order:42", it -> it.full());
        assertEquals(List.of("exclusive", "hash", LEASE), List.of(info.mode(), info.layout(), info.ttl()));
        LockHolder holder = info.holders().get(0);
        assertEquals(List.of("alice", "native"), List.of(holder.owner(), holder.kind()));
        assertEquals(List.of(1L, "invoice"), List.of(holder.token(), holder.data()));
        assertEquals(List.of(List.of(), List.of(1L)), List.of(info.waiters(), info.grants()));
        assertNull(info.delay());
        LockInfo free = new LockInfo("free", "none", null, List.of(), List.of(), null, List.of(), null);
        assertEquals(free, locks.info("other"));
    }

    @Test
    void aLockChangesHands() {
        locks.acquire("order:42", "alice", it -> it.mode(Mode.EXCLUSIVE).layout(Layout.HASH));
        assertTrue(locks.check("order:42", 1));
        locks.assertHeld("order:42", 1);
        assertEquals(List.of(1L), locks.renew(List.of("order:42"), "alice", Duration.ofSeconds(9), it -> it.token(1)));
        assertEquals(2, locks.transfer("order:42", "alice", "carol", it -> it.lease(Duration.ofSeconds(7))));
        LockPage page = locks.scan(0, it -> it.match("order:*").state(LockState.HELD));
        assertEquals(List.of("order:42"), page.keys());
        assertEquals(1, locks.forceUnlock("order:42", it -> it.owner("carol").reason("test")));
        assertFalse(locks.check("order:42", 1));
        locks.acquire("order:42", "dave");
        assertEquals(0, locks.release("order:42", "dave"));
    }

    @Test
    void severalLocksAndTheirGraph() {
        List<String> keys = List.of("a", "b");
        assertEquals(2, locks.acquireAll(keys, "alice", it -> it.mode(Mode.SHARED)).tokens().size());
        Grants taken = locks.acquireAll(List.of("b", "c"), "bob", it -> it.mode(Mode.EXCLUSIVE).getHolder());
        assertEquals("alice", taken.holder());
        assertEquals(List.of(0L, 0L), locks.releaseAll(keys, "alice"));
        assertEquals(Duration.ZERO, locks.acquireAll(keys, "alice").waited());
        assertEquals(List.of(), locks.graph().locks());
        locks.acquire("shared", "alice", it -> it.mode(Mode.SHARED));
        assertNotNull(locks.convert("shared", "alice", Mode.EXCLUSIVE).token());
        assertTrue(locks.graphDot().startsWith("digraph"));
        locks.fence("disk", 3);
        assertEquals(3, locks.fenceInfo("disk").highest());
        assertNull(locks.fenceInfo("other"));
        assertEquals(Set.of("disk"), locks.fences().keySet());
        assertEquals(1, locks.fenceReset());
        assertEquals(0, locks.cancel("a", "bob"));
        assertEquals(2, server.history().stats(it -> it.key("a")).holds());
    }

    @Test
    void semaphores() {
        Semaphores semaphores = server.semaphores();
        assertTrue(semaphores.init("pool", 3));
        Permits permits = semaphores.acquire("pool", "alice", it -> it.permits(2).lease(LEASE).ids());
        assertEquals(List.of(2L, 1L, 2), List.of(permits.permits(), permits.left(), permits.ids().size()));
        assertNull(semaphores.acquire("pool", "bob", it -> it.permits(2)));
        SemaphoreInfo info = semaphores.info("pool");
        assertEquals(List.of("ids", 1L, 2L), List.of(info.layout(), info.left(), info.held()));
        assertEquals(Set.of(LEASE), info.holders().stream().map(PermitHolder::ttl).collect(Collectors.toSet()));
        assertTrue(semaphores.renew("pool", permits.ids().get(0), Duration.ofSeconds(9)));
        assertEquals(3, semaphores.release("pool", "alice", it -> it.ids(permits.ids())));
        assertEquals(List.of(2L, 2L), List.of(semaphores.adjust("pool", -1), semaphores.drain("pool")));
    }

    @Test
    void latchesAndRates() {
        Latches latches = server.latches();
        assertTrue(latches.set("start", 2));
        assertNull(latches.await("start"));
        assertEquals(List.of(1L, 1L), List.of(latches.countDown("start"), latches.get("start")));
        latches.countDown("start", 1);
        assertEquals("absent", latches.await("start").state());

        Rates rates = server.rates();
        assertTrue(rates.set("mail", 1, Duration.ofMinutes(1)));
        assertTrue(rates.acquire("mail").allowed());
        RateDecision refused = rates.acquire("mail", 1);
        assertEquals(new RateDecision(false, 0, Duration.ofMinutes(1)), refused);
        assertFalse(rates.throttle("api", 0, 1, Duration.ofMinutes(1)).limited());
    }

    @Test
    void faultsMeetLocksAsTheyMeetCommands() {
        server.faults().add("refuse", Action.error("BUSY now"), it -> it.on("lock.acquire"));
        assertNotNull(locks.acquire("a", "alice"));
        server.faults().exempt(false);
        ReplyException error = assertThrows(ReplyException.class, () -> locks.acquire("a", "alice"));
        assertEquals("BUSY now", error.getMessage());
    }

    @Test
    void aWaiterGetsTheLockWhenTheLeaseExpires() throws Exception {
        Grant first = locks.acquire("a", "alice", it -> it.lease(LEASE));
        CompletableFuture<Grant> waits =
                CompletableFuture.supplyAsync(() -> locks.acquire("a", "bob", it -> it.block(Duration.ZERO)));
        server.await().waiters("a", 1);
        server.clock().advance(LEASE);
        assertEquals(first.token() + 1, waits.get().token());
    }

    @Test
    void optionsOfTheProgramHaveTypes() {
        ServerOptions options = new ServerOptions().lockHistoryMax(100).lockJeopardy(Duration.ofMillis(500));
        assertEquals(options, new ServerOptions().lockJeopardy(Duration.ofMillis(500)).lockHistoryMax(100));
        try (LockwheelServer started = LockwheelServer.start(options.lockLedger(false).threads(2))) {
            List<Object> told = List.of("lock-history-max", "lock-jeopardy", "lock-ledger").stream()
                    .<Object>map(name -> ((List<?>) started.command("CONFIG", "GET", name)).get(1))
                    .toList();
            assertEquals(List.of("100", "500", "no"), told);
        }
    }
}
