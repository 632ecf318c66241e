package io.lockwheel;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** How long a start takes; alone, so that the figure is the package's. */
@Isolated
class StartTest {
    private static final double NANOS = 1e6;

    @Test
    void howLongAStartTakes() {
        long[] taken = IntStream.range(0, 21).mapToLong(turn -> taken()).sorted().toArray();
        System.out.printf(
                "from LockwheelServer.start() to ready: median %.1f ms, longest %.1f ms%n",
                taken[10] / NANOS, taken[20] / NANOS);
    }

    private static long taken() {
        long begun = System.nanoTime();
        try (LockwheelServer server = LockwheelServer.start()) {
            return System.nanoTime() - begun;
        }
    }
}
