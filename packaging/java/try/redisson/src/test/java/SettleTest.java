import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.redisson.Redisson;
import org.redisson.api.RLock;

@Lockwheel
class SettleTest {
    /** Within one advance of the clock each waiter takes the lock at the instant at which the lease before it ends. */
    @Test
    void leasesThatBeginOnTheWayEndOnTheWay(LockwheelServer server) throws Exception {
        var holder = Redisson.create(server.redissonConfig());
        var second = Redisson.create(server.redissonConfig());
        var third = Redisson.create(server.redissonConfig());
        long start = server.clock().freeze().toEpochMilli();
        holder.getLock("order:42").lock(8, SECONDS);
        var taken = List.of(second, third).stream()
                .map(waiter -> CompletableFuture.supplyAsync(() -> {
                    RLock lock = waiter.getLock("order:42");
                    lock.lock(8, SECONDS);
                    return now(server) - start;
                }))
                .toList();
        server.await().waiters("order:42", 2);

        var turned = server.clock().advance(
                Duration.ofSeconds(24), it -> it.settle(Duration.ofSeconds(2)).limit(Duration.ofMinutes(1)));

        assertTrue(turned.settled());
        assertEquals(Set.of(8_000L, 16_000L), Set.of(taken.get(0).join(), taken.get(1).join()));
        holder.shutdown();
        second.shutdown();
        third.shutdown();
    }

    /** The server's wall clock in milliseconds, read while the advance is running. */
    private static long now(LockwheelServer server) {
        var time = (List<?>) server.command("TIME");
        return Long.parseLong((String) time.get(0)) * 1000 + Long.parseLong((String) time.get(1)) / 1000;
    }
}
