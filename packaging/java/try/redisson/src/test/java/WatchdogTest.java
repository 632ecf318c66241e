import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.Entry;
import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.redisson.Redisson;

@Lockwheel(time = "manual")
class WatchdogTest {
    /** The watchdog runs in real time: a small period lets it come before each turn that would end the lease. */
    @Test
    void aSmallTimeoutKeepsALockWhileTheClockIsTurned(LockwheelServer server) {
        var config = server.redissonConfig();
        config.setLockWatchdogTimeout(600); // milliseconds; it renews after a third of that
        var redisson = Redisson.create(config);
        var lock = redisson.getLock("order:42");
        lock.lock();
        for (int turn = 0; turn < 5; turn++) {
            server.clock().advance(Duration.ofMillis(599));
            long turned = server.history().entries(it -> it.count(0)).last();
            server.await().event("renewed", it -> it.since(turned));
        }
        assertTrue(lock.isHeldByCurrentThread());
        lock.unlock();
        redisson.shutdown();
    }

    @Test
    void theReportSaysThatTheWatchdogDidNotComeInTime(LockwheelServer server) {
        var redisson = Redisson.create(server.redissonConfig());
        var lock = redisson.getLock("order:42");
        lock.lock();
        for (int turn = 0; turn < 4; turn++) {
            server.clock().advance(Duration.ofSeconds(10));
        }
        assertFalse(lock.isHeldByCurrentThread());
        List<Entry> entries = server.history().entries(it -> it.key("order:42")).entries();
        assertEquals(List.of("acquired", "lost"), entries.stream().map(Entry::event).toList());
        String report = server.report();
        assertTrue(report.contains("    note: order:42 was lost by expiry after the clock was turned."), report);
        assertTrue(report.contains(" ms connect x"), report);
        redisson.shutdown();
    }
}
