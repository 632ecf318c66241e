import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.redisson.Redisson;
import org.redisson.api.RLock;

@Lockwheel
class LeaseTest {
    @Test
    void aLeaseRunsOutWhileItsHolderWorks(LockwheelServer server) throws InterruptedException {
        var first = Redisson.create(server.redissonConfig());
        var second = Redisson.create(server.redissonConfig());
        RLock held = first.getLock("order:42");
        RLock wanted = second.getLock("order:42");

        server.clock().freeze();
        held.lock(8, SECONDS);
        server.clock().advance(Duration.ofMillis(7999));
        assertFalse(wanted.tryLock());

        server.clock().advance(Duration.ofMillis(1)); // the first works on, and its lease ends
        assertTrue(wanted.tryLock(0, 8, SECONDS));
        assertThrows(IllegalMonitorStateException.class, held::unlock); // it is told that it has lost the lock
        assertTrue(wanted.isHeldByCurrentThread()); // and the second still holds it

        first.shutdown();
        second.shutdown();
    }
}
