package lockwheel;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;

/**
 * {@link NativeGroup}'s scenarios for Redisson's other locks and counters: each side sees the other's holds, is
 * excluded by them, and is woken by their release.
 */
final class NativeModesGroup implements Groups.Group {
    private static final String OWNER = "native";

    private static final String LEASE = Long.toString(Scene.NEVER);

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("native-read-write.readers", NativeModesGroup::readers));
        scenarios.add(new Scenario("native-read-write.writers", NativeModesGroup::writers));
        scenarios.add(new Scenario("native-read-write.granted-on-unlock", NativeModesGroup::grantedOnUnlock));
        scenarios.add(new Scenario("native-fair.order", NativeModesGroup::fairOrder));
        scenarios.add(new Scenario("native-semaphore.counts", NativeModesGroup::semaphore));
        scenarios.add(new Scenario("native-permits.counts", NativeModesGroup::permits));
        scenarios.add(new Scenario("native-latch.opens", NativeModesGroup::latch));
        scenarios.add(new Scenario("native-multi-lock.excludes", NativeModesGroup::multiLock));
    }

    /** Sends a request that waits, and returns once the server knows of the wait. */
    private static Raw waiting(Scene scene, String... words) throws IOException {
        Raw waiter = scene.raw();
        waiter.send(words);
        Check.equal(1L, scene.raw().call("AWAIT.BLOCKED", "1", "KEY", scene.name()));
        return waiter;
    }

    /** The answer to a request that has waited. */
    private static Map<String, Object> granted(Raw waiter) throws IOException {
        return Raw.mapped((List<?>) waiter.read());
    }

    /** Readers of both kinds share the lock, each with a lease of its own; the last one leaves nothing behind. */
    private static void readers(Scene scene) throws Throwable {
        RReadWriteLock lock = scene.a().getReadWriteLock(scene.name());
        Raw raw = scene.raw();
        String lease = "{" + scene.name() + "}:" + OWNER + ":rwlock_timeout:1";
        lock.readLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.equal(1L, raw.map("LOCK.ACQUIRE", scene.name(), OWNER, "SHARED", "PX", LEASE).get("holds"));
        Map<String, String> hash = raw.hash(scene.name());
        Check.equal(List.of("read", "1"), List.of(hash.get("mode"), hash.get(OWNER)));
        Check.equal(3, hash.size());
        Check.equal("1", raw.text("GET", lease));
        Check.that(!scene.b().getReadWriteLock(scene.name()).writeLock().tryLock(), "a writer among readers");
        Check.equal(null, raw.map("LOCK.ACQUIRE", scene.name(), "other", "EXCLUSIVE"));
        lock.readLock().unlock();
        Check.equal(Map.of("mode", "read", OWNER, "1"), raw.hash(scene.name()));
        Check.that(!lock.writeLock().tryLock(), "a writer beside the native reader");
        Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), OWNER));
        Check.equal(0L, raw.number("EXISTS", scene.name(), lease));
        Check.that(lock.writeLock().tryLock(), "the lock is free");
        lock.writeLock().unlock();
    }

    /** A writer of either kind excludes all others, who cannot release its lock. */
    private static void writers(Scene scene) throws Throwable {
        RReadWriteLock lock = scene.a().getReadWriteLock(scene.name());
        Raw raw = scene.raw();
        raw.map("LOCK.ACQUIRE", scene.name(), OWNER, "EXCLUSIVE", "PX", LEASE);
        Check.equal(Map.of("mode", "write", OWNER + ":write", "1"), raw.hash(scene.name()));
        Check.that(!lock.readLock().tryLock() && !lock.writeLock().tryLock(), "somebody beside the native writer");
        Check.throwing(IllegalMonitorStateException.class, ignored -> lock.writeLock().unlock());
        Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), OWNER));
        lock.writeLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Map<String, String> hash = raw.hash(scene.name());
        for (String mode : List.of("SHARED", "EXCLUSIVE")) {
            Check.equal(null, raw.map("LOCK.ACQUIRE", scene.name(), OWNER, mode));
            Check.throwing(Raw.ErrorReply.class, ignored -> raw.call("LOCK.RELEASE", scene.name(), OWNER, mode));
        }
        Check.equal(hash, raw.hash(scene.name()));
        lock.writeLock().unlock();
        Check.equal(0L, raw.number("EXISTS", scene.name()));
    }

    /** Native readers are served when Redisson's writer has finished, a native writer when its reader has. */
    private static void grantedOnUnlock(Scene scene) throws Throwable {
        RReadWriteLock lock = scene.a().getReadWriteLock(scene.name());
        lock.writeLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Raw reader = waiting(scene, "LOCK.ACQUIRE", scene.name(), OWNER, "SHARED", "PX", LEASE, "BLOCK", "0");
        lock.writeLock().unlock();
        Check.equal("released", granted(reader).get("predecessor"));
        Check.equal(0L, reader.call("LOCK.RELEASE", scene.name(), OWNER));
        lock.readLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Raw writer = waiting(scene, "LOCK.ACQUIRE", scene.name(), OWNER, "EXCLUSIVE", "PX", LEASE, "BLOCK", "0");
        lock.readLock().unlock();
        Check.equal(1L, granted(writer).get("holds"));
        Check.that(!lock.readLock().tryLock(), "the native writer has it now");
        Check.equal(0L, writer.call("LOCK.RELEASE", scene.name(), OWNER));
    }

    /** Native and Redisson waiters stand in one queue, and are served in its order. */
    private static void fairOrder(Scene scene) throws Throwable {
        RLock holder = scene.a().getFairLock(scene.name());
        Raw raw = scene.raw();
        String queue = "redisson_lock_queue:{" + scene.name() + "}";
        String timeouts = "redisson_lock_timeout:{" + scene.name() + "}";
        holder.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Raw first = waiting(scene, "LOCK.ACQUIRE", scene.name(), OWNER, "FAIR", "PX", LEASE, "BLOCK", "0");
        Check.equal(List.of(OWNER), raw.texts("LRANGE", queue, "0", "-1"));
        Task<Boolean> second = scene.start(() -> {
            RLock lock = scene.b().getFairLock(scene.name());
            lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            boolean held = lock.isHeldByCurrentThread();
            lock.unlock();
            return held;
        });
        second.untilItWaitsForAMessage();
        Check.equal(2L, raw.number("LLEN", queue));
        Check.equal(2L, raw.number("ZCARD", timeouts));
        Check.that(!scene.b().getFairLock(scene.name()).tryLock(), "nobody jumps the queue");
        holder.unlock();
        Check.equal(1L, granted(first).get("holds"));
        Check.equal(Map.of(OWNER, "1"), raw.hash(scene.name()));
        Check.equal(1L, raw.number("LLEN", queue));
        Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), OWNER));
        Check.that(second.get(), "the next one is served by the release");
        Check.equal(0L, raw.number("EXISTS", scene.name(), queue, timeouts));
    }

    /** One number counts for both, and a permit that one side returns wakes the other. */
    private static void semaphore(Scene scene) throws Throwable {
        RSemaphore semaphore = scene.a().getSemaphore(scene.name());
        Raw raw = scene.raw();
        Check.that(semaphore.trySetPermits(2), "it is new");
        Check.equal(0L, raw.map("SEM.ACQUIRE", scene.name(), OWNER, "PERMITS", "2").get("left"));
        Check.equal(0, semaphore.availablePermits());
        Check.that(!semaphore.tryAcquire(), "none is left");
        Task<Boolean> waiter = scene.start(() -> {
            scene.b().getSemaphore(scene.name()).acquire();
            return true;
        });
        waiter.untilItWaitsForAMessage();
        // The remaining permits are counted before the subscriber gets the message.
        Check.equal(1L, raw.call("SEM.RELEASE", scene.name(), OWNER));
        Check.that(waiter.get(), "the waiter has it");
        Check.equal("0", raw.text("GET", scene.name()));
        Raw next = waiting(scene, "SEM.ACQUIRE", scene.name(), OWNER, "BLOCK", "0");
        scene.b().getSemaphore(scene.name()).release();
        Check.equal(0L, granted(next).get("left"));
        Check.throwing(Raw.ErrorReply.class, ignored -> raw.call("SEM.RELEASE", scene.name(), OWNER, "PERMITS", "3"));
        Check.equal(2L, raw.call("SEM.RELEASE", scene.name(), OWNER, "PERMITS", "2"));
        Check.equal(2, semaphore.availablePermits());
    }

    /** Permits with names count alike: each is a member of one sorted set. */
    private static void permits(Scene scene) throws Throwable {
        RPermitExpirableSemaphore semaphore = scene.a().getPermitExpirableSemaphore(scene.name());
        Raw raw = scene.raw();
        Check.that(semaphore.trySetPermits(2), "it is new");
        String ours = semaphore.acquire(Scene.NEVER, TimeUnit.MILLISECONDS);
        Map<String, Object> taken = raw.map("SEM.ACQUIRE", scene.name(), OWNER, "IDS", "PX", LEASE);
        Check.equal(0L, taken.get("left"));
        String id = (String) ((List<?>) taken.get("ids")).get(0);
        Check.equal(2L, raw.number("ZCARD", "{" + scene.name() + "}:timeout"));
        Check.equal(0, semaphore.availablePermits());
        Check.equal(null, semaphore.tryAcquire(0, Scene.NEVER, TimeUnit.MILLISECONDS));
        Raw next = waiting(scene, "SEM.ACQUIRE", scene.name(), "other", "IDS", "PX", LEASE, "BLOCK", "0");
        semaphore.release(ours);
        String other = (String) ((List<?>) granted(next).get("ids")).get(0);
        Check.equal(1L, raw.call("SEM.RELEASE", scene.name(), OWNER, "ID", id));
        Check.equal(2L, raw.call("SEM.RELEASE", scene.name(), "other", "ID", other));
        Check.equal(2, semaphore.availablePermits());
        Check.equal(0L, raw.number("ZCARD", "{" + scene.name() + "}:timeout"));
    }

    /** Whichever side counts it down to zero, the waiters of both kinds are notified. */
    private static void latch(Scene scene) throws Throwable {
        RCountDownLatch latch = scene.a().getCountDownLatch(scene.name());
        Raw raw = scene.raw();
        for (boolean isNative : List.of(true, false)) {
            Check.that(latch.trySetCount(2), "it is new");
            Check.equal(1L, raw.call("LATCH.COUNTDOWN", scene.name()));
            Check.equal(1L, latch.getCount());
            Task<Boolean> listener = scene.start(() -> {
                scene.b().getCountDownLatch(scene.name()).await();
                return true;
            });
            listener.untilItWaitsForAMessage();
            Raw waiter = waiting(scene, "LATCH.AWAIT", scene.name(), "BLOCK", "0");
            if (isNative) {
                Check.equal(0L, raw.call("LATCH.COUNTDOWN", scene.name()));
            } else {
                latch.countDown();
            }
            Check.that(listener.get(), "who waits as Redisson does goes on");
            Check.equal("zero", granted(waiter).get("state"));
            Check.equal(0L, raw.number("EXISTS", scene.name()));
        }
    }

    /** Several locks at once are held by one of the two sides, key by key, and by the other when all are free. */
    private static void multiLock(Scene scene) throws Throwable {
        String[] keys = {scene.name("1"), scene.name("2")};
        RLock[] locks = {scene.a().getLock(keys[0]), scene.a().getLock(keys[1])};
        RedissonMultiLock multi = new RedissonMultiLock(locks);
        Raw raw = scene.rawOf(keys[0]);
        multi.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        String[] words = {"LOCK.MACQUIRE", "2", keys[0], keys[1], OWNER, "PX", LEASE, "BLOCK", "0"};
        Check.equal(null, raw.map("LOCK.MACQUIRE", "2", keys[0], keys[1], OWNER));
        Raw waiter = scene.rawOf(keys[0]);
        waiter.send(words);
        Check.equal(1L, raw.call("AWAIT.BLOCKED", "1", "KEY", keys[0]));
        locks[0].unlock();
        Check.equal(0L, raw.number("EXISTS", keys[0]));
        locks[1].unlock();
        Check.that(waiter.read() != null, "both are free, and granted at once");
        for (String key : keys) {
            Check.equal(Map.of(OWNER, "1"), raw.hash(key));
        }
        Check.that(!multi.tryLock(), "all of them while they are held natively");
        Check.equal(0L, raw.call("LOCK.RELEASE", keys[1], OWNER));
        Check.that(!multi.tryLock(), "all of them while one is held natively");
        scene.until("the one taken in vain is given back", () -> raw.number("EXISTS", keys[1]) == 0);
        Check.equal(0L, raw.call("LOCK.RELEASE", keys[0], OWNER));
        Check.that(multi.tryLock(), "all are free");
        multi.unlock();
    }
}
