package io.lockwheel.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.lockwheel.LockwheelServer;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.RepeatedTest;

/** Another class with the options of {@link LockwheelTest} has the same server, and waits for its turn. */
@Lockwheel(seed = 42)
class TakingTurnsTest {
    /** How many tests are at work with the server. */
    private static final AtomicInteger RUNNING = new AtomicInteger();

    @RepeatedTest(3)
    void takesTurns(LockwheelServer server) {
        onlyThisTestUses(server);
    }

    static void onlyThisTestUses(LockwheelServer server) {
        assertEquals(1, RUNNING.incrementAndGet(), "another test uses the server");
        for (int turn = 1; turn <= 1000; turn++) {
            assertEquals((long) turn, server.command("INCR", "turns"));
        }
        RUNNING.decrementAndGet();
    }
}
