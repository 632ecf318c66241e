package io.lockwheel.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lockwheel.LockwheelServer;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** A test's constructor has the test's server, and a test has a server that works whatever the one before it did. */
class ServerOfATestTest {
    /** A topology on the class. */
    @Nested
    @Lockwheel(topology = "replicas 1")
    class WithATopology {
        private static final List<LockwheelServer> SEEN = new ArrayList<>();
        private final LockwheelServer constructed;

        WithATopology(LockwheelServer server) {
            constructed = server;
            server.command("SET", "who", "constructor");
        }

        @RepeatedTest(2)
        void theConstructorHasTheServerOfTheTest(LockwheelServer server) {
            assertSame(server, constructed);
            assertEquals("constructor", server.command("GET", "who"));
            assertEquals(2, server.servers().size());
            SEEN.forEach(ended -> assertFalse(ended.isRunning()));
            assertFalse(SEEN.contains(server));
            SEEN.add(server);
        }

        @Nested
        class Within {
            private final LockwheelServer inner;

            Within(LockwheelServer server) {
                inner = server;
            }

            @Test
            void allConstructorsHaveTheServerOfTheTest(LockwheelServer server) {
                assertSame(server, constructed);
                assertSame(server, inner);
            }
        }

        /** The constructor's server is that of the class; it ends with the test, too. */
        @Test
        @Lockwheel(seed = 3)
        void aMethodWithItsOwnAnnotationHasAnother(LockwheelServer server) {
            assertNotSame(server, constructed);
            SEEN.add(constructed);
        }

        @AfterAll
        static void allHaveEnded() {
            assertEquals(3, SEEN.size());
            SEEN.forEach(server -> assertFalse(server.isRunning()));
        }
    }

    /** A test leaves the shared server so that it cannot be reset. */
    @Nested
    @Lockwheel(seed = 4711)
    @TestMethodOrder(MethodOrderer.OrderAnnotation.class)
    class AfterABrokenServer {
        private static LockwheelServer forAll;
        private static final AtomicReference<LockwheelServer> LAST = new AtomicReference<>();
        private static Socket client;
        private final LockwheelServer constructed;

        AfterABrokenServer(LockwheelServer server) {
            constructed = server;
        }

        @BeforeAll
        static void theStaticFieldIsTheParameter(LockwheelServer server) {
            assertSame(server, forAll);
        }

        private void isAnotherThatWorks(LockwheelServer server) {
            assertNotSame(LAST.get(), server);
            assertSame(constructed, server);
            assertSame(forAll, server);
            assertEquals("PONG", server.command("PING"));
            assertEquals(0L, server.command("DBSIZE"));
        }

        @Test
        @Order(1)
        void aScriptThatHasWrittenRunsForEver(LockwheelServer server) throws IOException {
            LAST.set(server);
            server.command("CONFIG", "SET", "busy-reply-threshold", 10);
            // It stays connected: the server ends the script of a client that has gone.
            client = new Socket(server.host(), server.port());
            String script = "EVAL \"redis.call('set','a','b') while true do end\" 0\r\n";
            client.getOutputStream().write(script.getBytes());
            while (!isBusy(server)) {
                Thread.onSpinWait();
            }
        }

        private static boolean isBusy(LockwheelServer server) {
            try {
                server.command("PING");
                return false;
            } catch (RuntimeException busy) {
                return busy.getMessage().startsWith("BUSY");
            }
        }

        @Test
        @Order(2)
        void theNextTestHasAnotherServer(LockwheelServer server) throws IOException {
            isAnotherThatWorks(server);
            LAST.set(server);
            client.close();
            assertThrows(RuntimeException.class, () -> server.command("SHUTDOWN", "NOSAVE"));
        }

        @Test
        @Order(3)
        void theTestAfterAShutdownHasAnotherServer(LockwheelServer server) {
            isAnotherThatWorks(server);
            assertTrue(server.isRunning());
        }
    }

    /** A class whose constructor wants a server that only its test has. */
    static class OnTheMethodAlone {
        OnTheMethodAlone(LockwheelServer server) {
            assertTrue(server.isRunning());
        }

        @Test
        @Lockwheel(topology = "replicas 1")
        void test() {}
    }

    /** A class that wants a server for all tests, where each has a topology of its own. */
    @Lockwheel(topology = "replicas 1")
    static class OnceForAll {
        @BeforeAll
        static void once(LockwheelServer server) {
            assertTrue(server.isRunning());
        }

        @Test
        void test() {}
    }

    /** A class whose test is aborted by an assumption. */
    @Lockwheel
    static class Aborted {
        @Test
        void test(LockwheelServer server) {
            assumeTrue(!server.isRunning());
        }
    }

    private static List<Throwable> failures(Class<?> testClass, List<ReportEntry> reports) {
        List<Throwable> failures = new ArrayList<>();
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClass(testClass))
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .build();
        LauncherFactory.create().execute(request, new TestExecutionListener() {
            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                result.getThrowable().ifPresent(failures::add);
            }

            @Override
            public void reportingEntryPublished(TestIdentifier test, ReportEntry entry) {
                reports.add(entry);
            }
        });
        return failures;
    }

    private static String failure(Class<?> testClass) {
        List<Throwable> failures = failures(testClass, new ArrayList<>());
        assertEquals(1, failures.size());
        assertEquals(0, failures.get(0).getSuppressed().length, "no report of another server");
        return failures.get(0).getMessage();
    }

    @Test
    void aConstructorIsRefusedTheServerOfAMethod() {
        String said = failure(OnTheMethodAlone.class);
        assertTrue(said.contains("put @Lockwheel on the class"), said);
        said = failure(OnceForAll.class);
        assertTrue(said.contains("each test has a topology of its own"), said);
    }

    @Test
    void anAbortedTestHasNoReport() {
        List<ReportEntry> reports = new ArrayList<>();
        List<Throwable> aborted = failures(Aborted.class, reports);
        assertEquals(1, aborted.size());
        assertEquals(0, aborted.get(0).getSuppressed().length);
        assertEquals(List.of(), reports);
    }
}
