package lockwheel;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;

/** RLock: layout, re-entry, lease, watchdog, waiting. */
final class PlainLockGroup implements Groups.Group {
    static final String CHANNEL = "redisson_lock__channel:";

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("lock.watchdog", PlainLockGroup::watchdog));
        scenarios.add(new Scenario("lock.layout", PlainLockGroup::layout));
        scenarios.add(new Scenario("lock.reentry", PlainLockGroup::reentry));
        scenarios.add(new Scenario("lock.excludes", PlainLockGroup::excludes));
        scenarios.add(new Scenario("lock.lease-expires", PlainLockGroup::leaseExpires));
        scenarios.add(new Scenario("lock.try-times-out", PlainLockGroup::tryTimesOut));
        scenarios.add(new Scenario("lock.woken-by-message", PlainLockGroup::wokenByMessage));
        scenarios.add(new Scenario("lock.unlock-publishes", PlainLockGroup::unlockPublishes));
        scenarios.add(new Scenario("lock.force-unlock", PlainLockGroup::forceUnlock));
        scenarios.add(new Scenario("lock.many-waiters", PlainLockGroup::manyWaiters));
    }

    /** A hash of owner to count under the lock's own name, with the watchdog's TTL, and nothing left after. */
    private static void layout(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        lock.lock();
        Map<String, String> hash = raw.hash(scene.name());
        Check.equal(1, hash.size());
        String owner = hash.keySet().iterator().next();
        Check.that(
                owner.matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:" + Thread.currentThread().getId()),
                "the owner is uuid:thread, got " + owner);
        Check.equal("1", hash.get(owner));
        Check.within(1, Clients.DEFAULT_WATCHDOG, raw.number("PTTL", scene.name()), "PTTL");
        lock.unlock();
        Check.equal(0L, raw.number("EXISTS", scene.name()));
        // Since 3.24, a latch key briefly records that the unlock was done; the client deletes it.
        String latches = "redisson_unlock_latch:{" + scene.name() + "}:*";
        scene.until("the unlock latch is gone", () -> raw.texts("KEYS", latches).isEmpty());
        Check.that(!lock.isLocked() && !lock.isHeldByCurrentThread(), "the lock is free");
    }

    private static void reentry(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        lock.lock();
        lock.lock();
        Check.that(lock.tryLock(), "the holder gets it again");
        Check.equal(List.of("3"), List.copyOf(raw.hash(scene.name()).values()));
        Check.equal(3, lock.getHoldCount());
        lock.unlock();
        lock.unlock();
        Check.equal(List.of("1"), List.copyOf(raw.hash(scene.name()).values()));
        Check.that(!scene.start(() -> lock.tryLock()).get(), "another thread of the same client gets it");
        lock.unlock();
        Check.equal(0L, raw.number("EXISTS", scene.name()));
        Check.equal(0, lock.getHoldCount());
    }

    /** Two clients excluded both ways, and only the holder unlocks. */
    private static void excludes(Scene scene) throws Throwable {
        RLock a = scene.a().getLock(scene.name());
        RLock b = scene.b().getLock(scene.name());
        a.lock();
        Check.that(!b.tryLock(), "b gets what a holds");
        Check.that(b.isLocked() && !b.isHeldByCurrentThread(), "b sees that it is held, by another");
        Check.throwing(IllegalMonitorStateException.class, ignored -> b.unlock());
        Check.that(a.isHeldByCurrentThread(), "a still holds it");
        a.unlock();
        Check.that(b.tryLock(), "b gets what is free");
        Check.that(!a.tryLock(), "a gets what b holds");
        b.unlock();
    }

    /** The lease ends the hold though its holder does nothing; a later unlock fails. */
    private static void leaseExpires(Scene scene) throws Throwable {
        long lease = 400;
        RLock a = scene.a().getLock(scene.name());
        RLock b = scene.b().getLock(scene.name());
        long start = System.nanoTime();
        a.lock(lease, TimeUnit.MILLISECONDS);
        long left = scene.raw().number("PTTL", scene.name());
        // A machine that stalls for the whole lease has seen its end.
        boolean over = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start) >= lease;
        Check.that(over ? left <= lease : 1 <= left && left <= lease, "PTTL is within the lease, got " + left);
        Check.that(b.tryLock(scene.patience(), Scene.NEVER, TimeUnit.MILLISECONDS), "b gets it after the lease");
        long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        Check.that(waited >= lease - Scene.ROUNDING, "it waited for the end of the lease, got " + waited);
        Check.throwing(IllegalMonitorStateException.class, ignored -> a.unlock());
        Check.that(b.isHeldByCurrentThread(), "b holds it");
        b.unlock();
    }

    private static void tryTimesOut(Scene scene) throws Throwable {
        long limit = 300;
        RLock b = scene.b().getLock(scene.name());
        RLock a = scene.a().getLock(scene.name());
        a.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.that(!b.tryLock(0, TimeUnit.MILLISECONDS), "no time, no lock");
        long start = System.nanoTime();
        Check.that(!b.tryLock(limit, TimeUnit.MILLISECONDS), "the lock is held all the time");
        long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        Check.that(waited >= limit - Scene.ROUNDING, "it waited " + limit + " ms, got " + waited);
        a.unlock();
    }

    /** The watchdog renews a lock without a lease, more than once, and stops when it is released. */
    private static void watchdog(Scene scene) throws Throwable {
        RLock lock = scene.watched().getLock(scene.name());
        Raw raw = scene.raw();
        lock.lock();
        long renewals = 0;
        long last = raw.number("PTTL", scene.name());
        Check.within(1, World.SHORT_WATCHDOG, last, "PTTL");
        for (long polls = 0; renewals < 2; polls++) {
            Thread.sleep(20);
            long left = raw.number("PTTL", scene.name());
            Check.within(1, World.SHORT_WATCHDOG, left, "PTTL");
            renewals += left > last ? 1 : 0;
            last = left;
            Check.that(polls < scene.patience() / 20, "the lease is renewed; it only ran down to " + left);
        }
        Check.that(lock.isHeldByCurrentThread(), "the holder still holds it");
        lock.unlock();
        Check.equal(-2L, raw.number("PTTL", scene.name()));
    }

    /** A waiter for a lease that never ends is woken by the unlock: only its message can do that. */
    private static void wokenByMessage(Scene scene) throws Throwable {
        RLock a = scene.a().getLock(scene.name());
        a.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Task<Boolean> waiter = scene.start(() -> {
            RLock b = scene.b().getLock(scene.name());
            b.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            boolean held = b.isHeldByCurrentThread();
            b.unlock();
            return held;
        });
        waiter.untilItWaitsForAMessage();
        Raw raw = scene.raw();
        String channel = CHANNEL + "{" + scene.name() + "}";
        scene.untilSubscribed(channel);
        a.unlock();
        Check.that(waiter.get(), "the waiter holds it");
        scene.until("the waiter has unsubscribed", () -> raw.subscribers(channel) == 0);
    }

    /**
     * The message of the unlock and its channel: `0` on the lock's channel, once, and not before the last of the holds.
     */
    private static void unlockPublishes(Scene scene) throws Throwable {
        String channel = CHANNEL + "{" + scene.name() + "}";
        Raw raw = scene.raw();
        raw.send("SUBSCRIBE", channel);
        Check.equal(List.of("subscribe", channel, 1L), raw.read());
        if (scene.inCluster()) {
            // Newer versions publish the messages of one slot there.
            raw.send("SSUBSCRIBE", channel);
            Check.equal(List.of("ssubscribe", channel, 1L), raw.read());
        }
        RLock lock = scene.a().getLock(scene.name());
        lock.lock();
        lock.lock();
        lock.unlock();
        raw.send("PING");
        Check.equal(List.of("pong", ""), raw.read());
        lock.unlock();
        List<?> message = (List<?>) raw.read();
        Check.that(List.of("message", "smessage").contains(message.get(0)), "a message: " + message);
        Check.equal(List.of(channel, "0"), message.subList(1, 3));
    }

    private static void forceUnlock(Scene scene) throws Throwable {
        RLock a = scene.a().getLock(scene.name());
        RLock b = scene.b().getLock(scene.name());
        // Does nothing to a lock that nobody holds. (Before 3.7 it has no result.)
        b.forceUnlock();
        a.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Task<Boolean> waiter = scene.start(() -> {
            scene.b().getLock(scene.name()).lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            return true;
        });
        waiter.untilItWaitsForAMessage();
        b.forceUnlock();
        waiter.get();
        Check.throwing(IllegalMonitorStateException.class, ignored -> a.unlock());
        Check.that(!a.tryLock(), "the waiter has it now");
        b.forceUnlock();
        Check.that(!a.isLocked(), "the lock is free");
    }

    /** Threads of two clients count under the lock without losing a step. */
    private static void manyWaiters(Scene scene) throws Throwable {
        int threads = 4;
        int rounds = 5;
        String counter = scene.name("counter");
        for (int i = 0; i < threads; i++) {
            RLock lock = (i % 2 == 0 ? scene.a() : scene.b()).getLock(scene.name());
            Raw raw = scene.raw();
            scene.start(() -> {
                for (int round = 0; round < rounds; round++) {
                    lock.lock();
                    String before = raw.text("GET", counter);
                    long next = before == null ? 1 : Long.parseLong(before) + 1;
                    raw.call("SET", counter, Long.toString(next));
                    lock.unlock();
                }
                return null;
            });
        }
        for (Task<?> task : scene.tasks()) {
            task.get();
        }
        Check.equal(Integer.toString(threads * rounds), scene.raw().text("GET", counter));
    }
}
