package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What errors say, and which line they name. */
class ErrorsTest {
    private static final Duration UNEVEN = Duration.ofNanos(1000);

    private static String refused(Executable call) {
        return assertThrows(IllegalArgumentException.class, call).getMessage();
    }

    @Test
    void choicesThatAMethodDoesNotTakeAreRefused() {
        try (LockwheelServer server = LockwheelServer.start()) {
            assertEquals(
                    "level is one of VIOLATION, SUSPECT, LINT, not OFF",
                    refused(() -> server.verify(it -> it.level(Level.OFF))));
            assertEquals(
                    "mode is one of SHARED, EXCLUSIVE, not FAIR",
                    refused(() -> server.locks().convert("a", "alice", Mode.FAIR)));
            assertEquals(
                    "either ATMOST or EXACT may be set, not both",
                    refused(() -> server.await().blocked(1, it -> it.exact().atMost())));
        }
    }

    @Test
    void aReplyOfAnotherShapeIsAnError() {
        for (Executable read : List.<Executable>of(
                () -> Rule.read(List.of("name", "rule", "rule", "", "matched", "often")),
                () -> Rule.read(List.of("name")),
                () -> Rule.read("text"),
                () -> RateDecision.read(List.of(1L, 2L)),
                () -> Replies.list(null, Rule::read),
                () -> Replies.number(null),
                () -> Level.read("fatal"))) {
            assertThrows(IllegalStateException.class, read);
        }
        IllegalStateException error = assertThrows(
                IllegalStateException.class, () -> Deadline.read(List.of(List.of(), "key")));
        assertEquals("kind: the reply is no string: []", error.getMessage());
    }

    @Test
    void durationsAndInstantsAreWholeMilliseconds() {
        try (LockwheelServer server = LockwheelServer.start(new ServerOptions().time("manual"))) {
            List<Executable> calls = List.of(
                    () -> server.clock().advance(UNEVEN),
                    () -> server.clock().step(UNEVEN),
                    () -> server.clock().set(Instant.ofEpochSecond(0, 1)),
                    () -> server.clock().advance(Duration.ofSeconds(1), it -> it.settle(UNEVEN)),
                    () -> server.clock().next(1, it -> it.limit(UNEVEN)),
                    () -> server.await().blocked(0, it -> it.limit(UNEVEN)),
                    () -> server.await().idle(UNEVEN),
                    () -> server.await().idle(UNEVEN, it -> it.name("name")),
                    () -> server.faults().freezeClient(Clients.all(), UNEVEN),
                    () -> server.faults().restart(it -> it.down(UNEVEN)),
                    () -> server.faults().down(0, it -> it.backAfter(UNEVEN)),
                    () -> server.locks().acquire("a", "alice", it -> it.lease(UNEVEN)),
                    () -> server.faults().lagBy(UNEVEN),
                    () -> Action.delay(UNEVEN),
                    () -> Action.delay(Duration.ZERO, UNEVEN),
                    () -> Action.delayReply(UNEVEN),
                    () -> Action.delayReply(Duration.ZERO, UNEVEN),
                    () -> Action.slice(1, UNEVEN),
                    () -> Action.dropReply(UNEVEN),
                    () -> Action.dropRequest(UNEVEN),
                    () -> new ServerOptions().time(Instant.ofEpochSecond(0, 1)));
            for (Executable call : calls) {
                assertTrue(refused(call).contains("is a whole number of milliseconds, not "));
            }
        }
    }

    @Test
    void timesBeyondTheServersAreRefused() {
        try (LockwheelServer server = LockwheelServer.start(new ServerOptions().time("manual"))) {
            String said = refused(() -> server.clock().advance(Duration.ofSeconds(Long.MAX_VALUE)));
            assertTrue(said.startsWith("a duration has at most 2^63-1 milliseconds, not PT"), said);
            refused(() -> server.clock().set(Instant.MAX));
            assertEquals(
                    "a duration is a whole number of seconds, not PT1.5S",
                    refused(() -> server.rates().throttle("api", 0, 1, Duration.ofMillis(1500))));
        }
    }

    @Test
    void whatHasNoReplyIsRefused() {
        try (LockwheelServer server = LockwheelServer.start()) {
            assertTrue(refused(() -> server.command()).startsWith("a command has a name"));
            for (String mode : List.of("off", "SKIP")) {
                String said = refused(() -> server.command("client", "Reply".getBytes(), mode));
                assertTrue(said.contains("has no reply"), said);
            }
            assertEquals("OK", server.command("CLIENT", "REPLY", "ON"));
            assertEquals("PONG", server.command("PING"));
        }
    }

    @Test
    void aStartErrorHasTheCauseAndTheEnd() {
        ServerOptions wrong = new ServerOptions().topology("sentinels 3");
        String said = assertThrows(StartException.class, () -> LockwheelServer.start(wrong)).getMessage();
        assertTrue(said.startsWith("the server has ended with code 1: There is no "), said);
        Log log = new Log();
        IntStream.range(0, 20).forEach(line -> log.add("line " + line));
        assertFalse(log.said().contains("…"));
        log.add("line 20");
        log.add("line 21");
        assertTrue(log.said().startsWith("line 0\n") && log.said().endsWith("\nline 21"), log.said());
        assertTrue(log.said().contains("line 9\n…\nline 12\n"), log.said());
    }

    /** The trace has the line that called the package, below the package's own. */
    private static void assertNamesThisTest(Throwable error, String method) {
        StackTraceElement caller = Arrays.stream(error.getStackTrace())
                .filter(frame -> frame.getClassName().equals(ErrorsTest.class.getName()))
                .findFirst()
                .orElseThrow(() -> new AssertionError("the trace has no line of the test", error));
        assertTrue(caller.getMethodName().contains(method), caller.toString());
    }

    @Test
    void aTraceNamesTheLineOfTheTestAndTheCauseIsKept() {
        LockwheelServer server = LockwheelServer.start();
        String here = "aTraceNamesTheLineOfTheTest";
        assertNamesThisTest(assertThrows(ReplyException.class, () -> server.command("NO")), here);
        Duration limit = Duration.ofMillis(1);
        assertNamesThisTest(
                assertThrows(AwaitException.class, () -> server.await().blocked(1, it -> it.limit(limit))), here);
        server.stop();
        for (Executable call : List.<Executable>of(
                () -> server.command("PING"),
                () -> server.clock().info(),
                () -> server.await().blocked(1),
                () -> server.faults().list(),
                () -> server.history().entries(),
                () -> server.verify(),
                () -> server.reset())) {
            UncheckedIOException error = assertThrows(UncheckedIOException.class, call);
            assertNamesThisTest(error, here);
            IOException cause = error.getCause();
            assertNotNull(cause);
            assertTrue(error.getMessage().endsWith(cause.toString()), error.getMessage());
        }
        ServerOptions absent = new ServerOptions().binary(java.nio.file.Path.of("/no/such/program"));
        StartException error = assertThrows(StartException.class, () -> LockwheelServer.start(absent));
        assertNamesThisTest(error, here);
        assertTrue(error.getCause() instanceof IOException, "the cause is kept");
    }
}
