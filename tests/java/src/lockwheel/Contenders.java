package lockwheel;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** The objects that can be shared with native clients; the key is the object's name. */
final class Contenders {
    /** The number of countdowns in each round of a latch. */
    private static final long COUNTDOWNS = 2;

    /** A reader or writer that misses a message continues when the lease ends; the native side has the same lease. */
    private static final long READ_WRITE_LEASE = 10_000;

    private Contenders() {}

    static Contender contender(String object, RedissonClient client) throws ReflectiveOperationException {
        switch (object) {
            case "plain":
                return locked(client.getLock(object));
            case "fair":
                return locked(client.getFairLock(object));
            case "read-write":
                return readWrite(client.getReadWriteLock(object));
            case "semaphore":
                return semaphore(client.getSemaphore(object));
            case "permits":
                return permits(client.getPermitExpirableSemaphore(object));
            case "latch":
                return latch(client.getCountDownLatch(object));
            default:
                // Only some versions have it.
                String name = Character.toUpperCase(object.charAt(0)) + object.substring(1);
                Class<?> contender = Class.forName("lockwheel." + name + "Contender");
                return (Contender) contender.getDeclaredConstructor(RedissonClient.class).newInstance(client);
        }
    }

    /** A section under a lock whose lease ends after the test. */
    static Contender locked(RLock lock) {
        return (referee, turn) -> section(referee, lock, Scene.NEVER, "alone");
    }

    private static void section(Referee referee, RLock lock, long lease, String way) throws Exception {
        lock.lock(lease, TimeUnit.MILLISECONDS);
        referee.enter(way);
        referee.leave();
        lock.unlock();
    }

    /** Takes the write lock in every third turn, each member in another one. */
    private static Contender readWrite(RReadWriteLock lock) {
        return (referee, turn) -> {
            boolean writes = (turn + referee.member()) % 3 == 0;
            RLock half = writes ? lock.writeLock() : lock.readLock();
            section(referee, half, READ_WRITE_LEASE, writes ? "alone" : "shared");
        };
    }

    private static Contender semaphore(RSemaphore semaphore) {
        return (referee, turn) -> {
            semaphore.acquire();
            referee.enter("alone");
            referee.leave();
            semaphore.release();
        };
    }

    private static Contender permits(RPermitExpirableSemaphore semaphore) {
        return (referee, turn) -> {
            String id = semaphore.acquire(Scene.NEVER, TimeUnit.MILLISECONDS);
            referee.enter("alone");
            referee.leave();
            semaphore.release(id);
        };
    }

    /** One member sets the latch in its turn. In the next turn two count it down, and the others wait for them. */
    private static Contender latch(RCountDownLatch latch) {
        return (referee, turn) -> {
            long round = turn / 2 + referee.member();
            if (turn % 2 == 0) {
                if (round % 4 == 0) {
                    Check.that(latch.trySetCount(COUNTDOWNS), "the latch is open");
                }
                referee.enter("done");
            } else if (round % 2 == 0) {
                referee.countsDown();
                latch.countDown();
                referee.enter("done");
            } else {
                latch.await();
                referee.enter("awaited");
            }
        };
    }
}
