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
    void unknownWordsAreRefusedWithTheNearest() {
        try (LockwheelServer server = LockwheelServer.start()) {
            String said = refused(() -> server.await().key("k", "EXIST"));
            assertTrue(said.endsWith(", not 'EXIST'; did you mean 'EXISTS'?"), said);
            assertTrue(refused(() -> server.await().key("k", "present")).endsWith(", not 'present'"));
            assertThrows(ReplyException.class, () -> server.verify(it -> it.level(Level.OFF)));
        }
    }

    @Test
    void editsAreCounted() {
        assertEquals(
                List.of(0, 2, 0, 1, 1, 2),
                List.of(
                        Known.edits("", ""), Known.edits("", "in"), Known.edits("lint", "lint"),
                        Known.edits("lnt", "lint"), Known.edits("suspect", "suspekt"), Known.edits("off", "on")));
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
                    () -> server.faults().restart(it -> it.down(UNEVEN).tokens()),
                    () -> server.faults().restart(it -> it.down(UNEVEN).keep()),
                    () -> server.faults().down(0, it -> it.backAfter(UNEVEN)),
                    () -> server.faults().down(0, it -> it.backAfter(UNEVEN).keep()),
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
        Executable wait = () -> server.await().blocked(1, it -> it.limit(Duration.ofMillis(1)));
        assertNamesThisTest(assertThrows(AwaitException.class, wait), here);
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
