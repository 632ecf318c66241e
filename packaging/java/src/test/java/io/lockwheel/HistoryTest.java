package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What happened to locks, and what is wrong in it. */
class HistoryTest {
    private static final Instant START = Instant.parse("2030-01-01T00:00:00Z");
    private static final Duration LEASE = Duration.ofSeconds(8);

    private final LockwheelServer server = LockwheelServer.start(new ServerOptions().time(START));

    @AfterEach
    void stop() {
        server.stop();
    }

    private void heldAndExpired() {
        server.command("LOCK.ACQUIRE", "order:42", "first", "PX", 8000);
        server.clock().advance(LEASE);
        server.command("LOCK.ACQUIRE", "order:42", "second", "PX", 8000);
    }

    private List<String> events(Consumer<History.Filters> options) {
        return server.history().entries(options).entries().stream()
                .filter(entry -> entry.key() != null)
                .map(entry -> entry.event() + " " + entry.owner())
                .toList();
    }

    /** Two are in a section that a lock protects. */
    private static void overlap(LockwheelServer server) {
        server.history().enter("order:42", "first");
        server.history().enter("order:42", "second");
    }

    @Test
    void itTellsWhoTookALockAndHowItEnded() {
        heldAndExpired();
        assertEquals(List.of("acquired first", "lost first", "acquired second"), events(it -> {}));
        Entries told = server.history().entries(it -> it.key("order:*").owner("first"));
        Entry acquired = told.entries().get(0);
        Entry lost = told.entries().get(1);
        assertEquals(List.of("native", "exclusive"), List.of(acquired.kind(), acquired.mode()));
        assertEquals(LEASE, acquired.ttl());
        assertEquals(START, acquired.wall());
        assertEquals("expired", lost.cause());
        assertEquals(acquired.grant(), lost.grant());
        assertEquals(LEASE, lost.monotonic().minus(acquired.monotonic()));
        assertEquals(1, told.first());
        assertFalse(told.truncated());
        assertEquals(List.of("acquired second"), events(it -> it.since(lost.seq())));
        assertEquals(1, server.history().entries(it -> it.count(1)).entries().size());
    }

    @Test
    void itIsThereAsJsonAndAsEdn() {
        heldAndExpired();
        String json = server.history().json(it -> it.owner("second"));
        assertTrue(json.contains("\"acquired\"") && !json.contains("\"lost\""), json);
        String edn = server.history().edn();
        assertTrue(edn.contains(":process") && edn.contains(":ok"), edn);
    }

    @Test
    void aTestWritesIntoIt() {
        server.history().mark("the second begins");
        server.history().enter("room", "a");
        server.history().enter("room", "b", it -> it.token(7));
        assertTrue(server.history().leave("room", "a"));
        assertFalse(server.history().leave("room", "a"));
        List<Entry> entries = server.history().entries().entries();
        assertTrue(entries.stream().anyMatch(entry -> "the second begins".equals(entry.text())), entries::toString);
        server.history().observe("my:*");
        server.command("SET", "my:lock", "me");
        assertTrue(server.history().unobserve("my:*"));
        server.command("SET", "my:other", "me");
        assertEquals(List.of("acquired me"), events(it -> it.key("my:*")));
    }

    @Test
    void otherStatesAreAwaited() {
        heldAndExpired();
        Await await = server.await();
        long lost = await.event("lost", it -> it.key("order:*").owner("first"));
        assertTrue(await.event("acquired", it -> it.count(2)) > lost);
        await.calls("LOCK.ACQUIRE", 2);
        await.calls("LOCK.ACQUIRE", 0, it -> it.exact().key("order:*"));
        await.clients(1);
        await.clients(0, it -> it.exact().name("nobody"));
        await.blocked(0, it -> it.exact());
        await.waiters("k", 3, it -> it.atMost());
        await.subscribers("news", 0, it -> it.exact());
        await.idle(Duration.ofMillis(10), it -> it.name("nobody"));
        Duration brief = Duration.ofMillis(10);
        assertThrows(AwaitException.class, () -> await.event("lost", it -> it.since(lost).limit(brief)));
    }

    @Test
    void twoInASectionAreFound() {
        assertEquals("ok", server.verify().verdict());
        overlap(server);
        Verdict verdict = server.verify(it -> it.level(Level.VIOLATION).key("order:*"));
        assertEquals("violated", verdict.verdict());
        Finding found = verdict.findings().get(0);
        assertEquals(Level.VIOLATION, found.level());
        assertEquals(List.of("mutual-exclusion", "order:42"), List.of(found.invariant(), found.key()));
        assertEquals(Set.of("first", "second"), Set.copyOf(found.owners()));
        assertEquals(found.seqs().size(), found.evidence().size());
        assertEquals(List.of(), server.verify(it -> it.level(Level.LINT).key("other")).findings());
        server.check();
        assertThrows(FindingsError.class, () -> server.check(Level.VIOLATION));
    }

    @Test
    void aServerThatVerifiesTellsAtItsEnd() {
        FindingsError error = assertThrows(FindingsError.class, () -> {
            try (LockwheelServer verified = LockwheelServer.start(new ServerOptions().verify(Level.VIOLATION))) {
                verified.check();
                overlap(verified);
            }
        });
        assertEquals(1, error.findings().size());
        String told = error.getMessage();
        assertTrue(told.startsWith("violation mutual-exclusion of order:42: ") && told.contains("\nhistory:\n"), told);
    }

    @Test
    void aHistoryThatIsOffIsNoVerdict() {
        ServerOptions options = new ServerOptions().args("--lock-history", "no").verify(Level.LINT);
        String reason = "the history is off: CONFIG SET lock-history yes turns it on";
        FindingsError error = assertThrows(FindingsError.class, () -> {
            try (LockwheelServer verified = LockwheelServer.start(options)) {
                Verdict verdict = verified.verify();
                assertEquals("inconclusive", verdict.verdict());
                assertEquals(reason, verdict.reason());
                assertEquals(0, verdict.leftOut());
                verified.command("LOCK.ACQUIRE", "order:42", "first");
            }
        });
        assertEquals(List.of(), error.findings());
        String told = error.getMessage();
        assertTrue(told.startsWith("inconclusive: " + reason + "\n"), told);
        assertTrue(told.contains("\nfindings:\n    inconclusive: " + reason + "\n"), told);
    }

    @Test
    void findingsThatAreLeftOutAreCounted() {
        Verdict verdict = new Verdict("violated", 9, false, List.of(), null, 3);
        assertEquals(List.of("violated", "and 3 more"), FindingsError.lines(verdict));
    }

    /** A fault refuses a renewal, so that the lease ends; the owner gives back what another has had since. */
    private static void givesBackLate(Level level) {
        try (LockwheelServer late = LockwheelServer.start(new ServerOptions().verify(level).time("manual"))) {
            late.faults().add("renewals", Action.error("ERR as asked"), it -> it.on("LOCK.RENEW"));
            late.faults().exempt(false);
            late.command("LOCK.ACQUIRE", "order:42", "first", "PX", 1000);
            assertThrows(
                    ReplyException.class, () -> late.command("LOCK.RENEW", 1, "order:42", "first", "PX", 1000));
            late.clock().advance(Duration.ofSeconds(1));
            late.command("LOCK.ACQUIRE", "order:42", "second");
            late.command("LOCK.RELEASE", "order:42", "second");
            assertThrows(ReplyException.class, () -> late.command("LOCK.RELEASE", "order:42", "first"));
        }
    }

    @Test
    void whatIsOnlySuspectFailsATestThatMindsIt() {
        String told =
                assertThrows(FindingsError.class, () -> givesBackLate(Level.SUSPECT)).getMessage();
        assertTrue(told.startsWith("suspect "), told);
        assertTrue(told.contains("renewals (ON LOCK.RENEW DO ERROR ERR as asked): hits=1"), told);
        givesBackLate(Level.VIOLATION);
    }

    @Test
    void aReportHasHistoryAndFindings() {
        heldAndExpired();
        overlap(server);
        String report = server.report();
        assertTrue(report.contains("\nfindings:\n    violation mutual-exclusion of order:42: "), report);
        assertTrue(report.contains(" 8000 ms lost order:42 ") && report.contains("owner=first"), report);
        for (int line = 0; line < 200; line++) {
            server.history().mark("line " + line);
        }
        String many = server.report();
        assertTrue(many.contains(" earlier entries)\n") && many.contains("line 199"), many);
        assertFalse(many.contains("line 50"), many);
    }
}
