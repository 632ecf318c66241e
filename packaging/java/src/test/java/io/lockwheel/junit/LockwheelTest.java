package io.lockwheel.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.LockwheelServer;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** What the annotation gives to tests. These run in parallel where JUnit is told so. */
@Lockwheel(seed = 42)
class LockwheelTest {
    private static final AtomicReference<LockwheelServer> SHARED = new AtomicReference<>();
    private static final AtomicReference<LockwheelServer> OWN = new AtomicReference<>();

    private static LockwheelServer forAll;
    private LockwheelServer field;
    private LockwheelServer started = LockwheelServer.start();
    private final LockwheelServer constructed;

    LockwheelTest(LockwheelServer server) {
        constructed = server;
    }

    @BeforeAll
    static void theStaticFieldIsSet(LockwheelServer server) {
        assertSame(server, forAll);
        SHARED.set(server);
    }

    @BeforeEach
    void theFieldIsSet(LockwheelServer server) {
        assertSame(server, field);
        assertNotSame(server, started, "what the test has set is its own");
    }

    @AfterEach
    void stop() {
        started.stop();
    }

    @RepeatedTest(3)
    void oneServerResetBeforeEachTest(LockwheelServer server) {
        assertSame(SHARED.get(), server);
        assertSame(constructed, server);
        TakingTurnsTest.onlyThisTestUses(server);
        assertTrue(server.report().contains("seed 42"), server.report());
        assertEquals(0L, server.command("EXISTS", "left"));
        assertEquals("real", server.clock().info().mode());
        server.command("SET", "left", "behind");
        server.clock().freeze();
    }

    @Test
    @Lockwheel(time = "2030-01-01T00:00:00Z", args = {"--maxclients", "99"})
    void aTestWithOptionsHasAServerOfItsOwn(LockwheelServer server) {
        assertNotSame(SHARED.get(), server);
        assertSame(field, server);
        assertEquals("2030-01-01T00:00:00Z", server.clock().info().wall().toString());
        server.clock().advance(Duration.ofDays(1));
        OWN.set(server);
    }

    @AfterAll
    static void theServerOfOneTestHasEnded() {
        assertFalse(OWN.get().isRunning());
        assertTrue(SHARED.get().isRunning());
    }

    @Nested
    class Within {
        private LockwheelServer inner;

        @Test
        void anInnerClassHasTheServerOfTheOuter(LockwheelServer server) {
            assertSame(constructed, server);
            assertSame(field, server);
            assertSame(inner, server);
        }
    }
}
