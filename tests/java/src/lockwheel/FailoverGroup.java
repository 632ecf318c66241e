package lockwheel;

import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;

/** Objects in use while a replica takes over: holders continue to hold, waiters are served. */
@SuppressWarnings("deprecation") // The delayed queue is deprecated in newer versions and still used.
final class FailoverGroup implements Groups.Group {
    /** The pause between two attempts to publish. */
    private static final long AGAIN_MILLIS = 300;

    /**
     * A lease that outlives the failover. A waiter asks again when the lease that it has seen is over. If the message
     * of the unlock is lost, which happens, the waiter is served then.
     */
    private static final long LEASE = 40_000;

    /**
     * A lease for three locks, which are unlocked one after the other. Each unlock may be sent to a connection that is
     * about to be closed, and is sent again when the client has waited long enough for its answer.
     */
    private static final long LEASE_OF_THREE = 3 * LEASE;

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("failover.watchdog", FailoverGroup::watchdog));
        scenarios.add(new Scenario("failover.plain", scene -> keeps(
                scene, scene.a().getLock(scene.name()), scene.b().getLock(scene.name()))));
        scenarios.add(new Scenario("failover.fair", scene -> keeps(
                scene, scene.a().getFairLock(scene.name()), scene.b().getFairLock(scene.name()))));
        scenarios.add(new Scenario("failover.write", scene -> keeps(
                scene,
                scene.a().getReadWriteLock(scene.name()).writeLock(),
                scene.b().getReadWriteLock(scene.name()).readLock())));
        scenarios.add(new Scenario("failover.read", scene -> keeps(
                scene,
                scene.a().getReadWriteLock(scene.name()).readLock(),
                scene.b().getReadWriteLock(scene.name()).writeLock())));
        scenarios.add(new Scenario("failover.multi", FailoverGroup::multi));
        scenarios.add(new Scenario("failover.semaphore", FailoverGroup::semaphore));
        scenarios.add(new Scenario("failover.permits", FailoverGroup::permits));
        scenarios.add(new Scenario("failover.latch", FailoverGroup::latch));
        scenarios.add(new Scenario("failover.topics", FailoverGroup::topics));
        scenarios.add(new Scenario("failover.queues", FailoverGroup::queues));
        scenarios.add(new Scenario("failover.delayed", FailoverGroup::delayed));
    }

    private static RedissonMultiLock multi(Scene scene, RedissonClient client) {
        return new RedissonMultiLock(
                client.getLock(scene.name("one")), client.getLock(scene.name("two")), client.getLock(scene.name("three")));
    }

    /** Waits for the failover, and then until the clients have found the new master. */
    private static void through(Scene scene) throws Exception {
        scene.failsOver();
        for (RedissonClient client : List.of(scene.a(), scene.b(), scene.watched())) {
            scene.until("the client writes again", () -> writes(client, scene.name("alive")));
        }
    }

    private static boolean writes(RedissonClient client, String key) {
        try {
            client.getBucket(key).set("yes");
            return true;
        } catch (RuntimeException notYet) {
            return false;
        }
    }

    /**
     * Repeats the notification of a waiter until it has been received. A message that is published while its listener
     * moves from the old server to the new one reaches nobody.
     */
    private static void served(Scene scene, Task<?> waiter, Scenario.Body told) throws Throwable {
        // The longest lease has begun before.
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LEASE_OF_THREE);
        while (!waiter.done()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("the waiter is not served: " + scene.evidence() + waiter.where());
            }
            told.run(scene);
            for (long waited = 0; !waiter.done() && waited < AGAIN_MILLIS; waited += 10) {
                Thread.sleep(10);
            }
        }
        waiter.get();
    }

    /** A lease continues, and its end serves a waiter that has waited since before. */
    static void keeps(Scene scene, RLock ofA, RLock ofB) throws Throwable {
        ofA.lock(LEASE, TimeUnit.MILLISECONDS);
        Task<Boolean> waiter = scene.start(() -> {
            lockAtLast(ofB);
            giveBack(ofB);
            return true;
        });
        waits(scene, waiter, ofA);
        through(scene);
        Check.that(ofA.isHeldByCurrentThread(), "who held it holds it");
        stillWaits(waiter);
        giveBack(ofA);
        served(scene, waiter, ignored -> {});
    }

    /**
     * Takes the lock, and repeats the request after an exception: requests may fail while the servers change their
     * roles.
     */
    private static void lockAtLast(RLock lock) {
        while (true) {
            try {
                lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
                return;
            } catch (RedisException meanwhile) {
                Check.that(!atLast(lock::isHeldByCurrentThread), "a lock that was not given");
            }
        }
    }

    /**
     * Returns the answer of a request. Repeats it if it failed as above, or because its connection was about to be
     * closed.
     */
    private static <T> T atLast(Supplier<T> asked) {
        while (true) {
            try {
                return asked.get();
            } catch (RedisException meanwhile) {
                // The request is repeated, as above.
            }
        }
    }

    /** Requires that nobody else has got the lock. A waiter that has ended with an exception reports it. */
    private static void stillWaits(Task<?> waiter) throws Throwable {
        if (waiter.done()) {
            waiter.get();
            throw new AssertionError("somebody else has got it");
        }
    }

    /**
     * Unlocks. If the answer is lost, the client asks again, and may be told that it does not hold the lock: its first
     * attempt released it. The waiter shows whether that is so.
     */
    private static void giveBack(Lock lock) {
        try {
            lock.unlock();
        } catch (IllegalMonitorStateException askedAgain) {
            // The request is repeated, as above.
        }
    }

    /**
     * A master that becomes a replica answers its blocked clients with an exception. Requests before their client has
     * found the new master fail with another exception. A client repeats its request after either.
     */
    private static String takeAtLast(RBlockingQueue<String> queue) throws InterruptedException {
        while (true) {
            try {
                return queue.take();
            } catch (RedisException meanwhile) {
                String text = meanwhile.getMessage();
                boolean isTold = text.startsWith("UNBLOCKED ") || text.startsWith("READONLY ");
                Check.that(isTold, "another exception: " + meanwhile);
            }
        }
    }

    /** The spin lock has no subscription. */
    private static void waits(Scene scene, Task<?> waiter, RLock lock) throws Exception {
        if (!lock.getClass().getSimpleName().contains("Spin")) {
            waiter.untilItWaitsForAMessage();
        }
    }

    /** Performs the scenario with a lock of several. */
    private static void multi(Scene scene) throws Throwable {
        RedissonMultiLock ofA = multi(scene, scene.a());
        ofA.lock(LEASE_OF_THREE, TimeUnit.MILLISECONDS);
        Task<Boolean> waiter = scene.start(() -> {
            RedissonMultiLock ofB = multi(scene, scene.b());
            ofB.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            giveBack(ofB);
            return true;
        });
        through(scene);
        stillWaits(waiter);
        giveBack(ofA);
        served(scene, waiter, ignored -> {});
    }

    /** A renewed lease is renewed at the new master. */
    private static void watchdog(Scene scene) throws Throwable {
        RLock lock = scene.watched().getLock(scene.name());
        lock.lock();
        through(scene);
        RLock ofB = scene.b().getLock(scene.name());
        long renewals = 0;
        for (long polls = 0, last = atLast(ofB::remainTimeToLive); renewals < 1; polls++) {
            Thread.sleep(20);
            long left = atLast(ofB::remainTimeToLive);
            Check.within(1, scene.watchdog(), left, "the time to live");
            renewals += left > last ? 1 : 0;
            last = left;
            Check.that(polls < scene.patience() / 20, "the lease is renewed; it only ran down to " + left);
        }
        Check.that(lock.isHeldByCurrentThread(), "who held it holds it");
        Check.that(!ofB.tryLock(), "nobody else gets it");
        giveBack(lock);
        Check.that(ofB.tryLock(), "it is free");
        ofB.unlock();
    }

    private static void semaphore(Scene scene) throws Throwable {
        RSemaphore semaphore = scene.a().getSemaphore(scene.name());
        semaphore.trySetPermits(1);
        semaphore.acquire();
        Task<Boolean> waiter = scene.start(() -> {
            scene.b().getSemaphore(scene.name()).acquire();
            return true;
        });
        waiter.untilItWaitsForAMessage();
        through(scene);
        Check.equal(0, semaphore.availablePermits());
        served(scene, waiter, ignored -> semaphore.release());
    }

    private static void permits(Scene scene) throws Throwable {
        RPermitExpirableSemaphore semaphore = scene.a().getPermitExpirableSemaphore(scene.name());
        semaphore.trySetPermits(1);
        String[] permit = {semaphore.acquire(Scene.NEVER, TimeUnit.MILLISECONDS)};
        Task<String> waiter =
                scene.start(() -> scene.b().getPermitExpirableSemaphore(scene.name()).acquire());
        waiter.untilItWaitsForAMessage();
        through(scene);
        Check.equal(0, semaphore.availablePermits());
        served(scene, waiter, ignored -> {
            // A permit that was released to the old master after its replacement is lost, and released again.
            if (!semaphore.tryRelease(permit[0])) {
                String another = semaphore.tryAcquire(0, Scene.NEVER, TimeUnit.MILLISECONDS);
                permit[0] = another != null ? another : permit[0];
            }
        });
        Check.that(waiter.get() != null, "a permit");
    }

    private static void latch(Scene scene) throws Throwable {
        RCountDownLatch latch = scene.a().getCountDownLatch(scene.name());
        latch.trySetCount(2);
        latch.countDown();
        Task<Boolean> waiter = scene.start(() -> {
            scene.b().getCountDownLatch(scene.name()).await();
            return true;
        });
        waiter.untilItWaitsForAMessage();
        through(scene);
        Check.equal(1L, latch.getCount());
        served(scene, waiter, ignored -> {
            latch.trySetCount(1);
            latch.countDown();
        });
    }

    private static void topics(Scene scene) throws Throwable {
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        Set<String> texts = ConcurrentHashMap.newKeySet();
        Versions.listen(scene.b(), scene.name(), (channel, text) -> texts.add(text));
        Versions.listenToPattern(scene.b(), scene.name("*"), (channel, text) -> heard.add(text));
        scene.until("both are heard", () -> {
            Versions.publish(scene.a(), scene.name(), "before");
            Versions.publish(scene.a(), scene.name("x"), "before");
            return texts.contains("before") && heard.contains("before");
        });
        through(scene);
        try {
            scene.until("both are heard again", () -> {
                Versions.publish(scene.a(), scene.name(), "after");
                Versions.publish(scene.a(), scene.name("x"), "after");
                return texts.contains("after") && heard.contains("after");
            });
        } catch (AssertionError vain) {
            throw new AssertionError(vain.getMessage() + ": " + scene.evidence());
        }
    }

    private static void queues(Scene scene) throws Throwable {
        RBlockingQueue<String> queue = scene.b().getBlockingQueue(scene.name());
        scene.a().getQueue(scene.name()).add("before");
        Check.equal("before", queue.take());
        Task<String> taker = scene.start(() -> takeAtLast(queue));
        scene.a().getQueue(scene.name("kept")).add("kept");
        through(scene);
        Check.equal("kept", scene.b().getQueue(scene.name("kept")).poll());
        // An element that is taken for a connection about to be closed is lost.
        served(scene, taker, ignored -> scene.a().getQueue(scene.name()).add("after"));
        Check.equal("after", taker.get());
    }

    /** Elements that were offered before the failover come due after it. */
    private static void delayed(Scene scene) throws Throwable {
        RBlockingQueue<String> target = scene.a().getBlockingQueue(scene.name());
        RDelayedQueue<String> delayed = scene.a().getDelayedQueue(target);
        delayed.offer("kept", Scene.NEVER, TimeUnit.MILLISECONDS);
        through(scene);
        Check.equal(List.of("kept"), delayed.readAll());
        RBlockingQueue<String> ofB = scene.b().getBlockingQueue(scene.name());
        // A message tells the client that moves due elements about them. That message may be lost, too.
        scene.until("what is due comes", () -> {
            delayed.offer("soon", 200, TimeUnit.MILLISECONDS);
            return "soon".equals(ofB.poll(1, TimeUnit.SECONDS));
        });
        delayed.destroy();
    }
}
