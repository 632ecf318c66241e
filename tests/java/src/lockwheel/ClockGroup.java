package lockwheel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;

/**
 * Waiters for a lease that an advance of the server's clock ends, which only Lockwheel has. The clock is that of all
 * keys, so these scenarios run alone: see {@link Options#clock()}.
 */
final class ClockGroup implements Groups.Group {
    /** The milliseconds that an advance leaves to real time. */
    private static final long LEFT = 500;

    @Override
    public void addTo(List<Scenario> scenarios) {
        for (String verb : List.of("advance", "next", "step")) {
            scenarios.add(new Scenario("clock." + verb + "-wakes", scene -> turnWakes(scene, verb)));
        }
        scenarios.add(new Scenario("clock.shortened-lease-wakes", ClockGroup::shortenedLeaseWakes));
        scenarios.add(new Scenario("clock.nowake", ClockGroup::nowake));
        scenarios.add(new Scenario("clock.native-lease-wakes", ClockGroup::nativeLeaseWakes));
        scenarios.add(new Scenario("clock.fair-head-wakes", ClockGroup::fairHeadWakes));
        scenarios.add(new Scenario("clock.writer-wakes", ClockGroup::writerWakes));
        scenarios.add(new Scenario("clock.readers-wake", ClockGroup::readersWake));
    }

    /** Starts a waiter for the held lock. It returns whether it got the lock. */
    private static Task<Boolean> waiting(Scene scene, RLock lock) throws Throwable {
        Task<Boolean> waiter = scene.start(() -> {
            lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            boolean held = lock.isHeldByCurrentThread();
            lock.unlock();
            return held;
        });
        waiter.untilItWaitsForAMessage();
        return waiter;
    }

    /** The lock of client a, held with a lease that ends only if the clock is advanced. */
    private static RLock held(Scene scene) {
        RLock lock = scene.a().getLock(scene.name());
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        return lock;
    }

    private static String never() {
        return Long.toString(Scene.NEVER);
    }

    private static void turnWakes(Scene scene, String verb) throws Throwable {
        RLock lock = held(scene);
        Task<Boolean> waiter = waiting(scene, scene.b().getLock(scene.name()));
        Raw raw = scene.raw();
        String holder = raw.hash(scene.name()).keySet().iterator().next();
        // The next deadline may be another key's.
        while (raw.hash(scene.name()).containsKey(holder)) {
            if (verb.equals("next")) {
                Map<String, Object> fired = raw.map("CLOCK.NEXT");
                Check.that(fired != null, "there is a deadline");
            } else {
                raw.call("CLOCK." + verb, never());
            }
        }
        Check.that(waiter.get(), "the waiter holds it");
        Check.throwing(IllegalMonitorStateException.class, ignored -> lock.unlock());
    }

    /** The advance leaves half a second, and real time does the rest. */
    private static void shortenedLeaseWakes(Scene scene) throws Throwable {
        held(scene);
        Task<Boolean> waiter = waiting(scene, scene.b().getLock(scene.name()));
        Raw raw = scene.raw();
        raw.call("CLOCK.ADVANCE", Long.toString(raw.number("PTTL", scene.name()) - LEFT));
        Check.that(waiter.get(), "the waiter holds it");
    }

    /** The waiter gets no message until an event occurs. */
    private static void nowake(Scene scene) throws Throwable {
        held(scene);
        Task<Boolean> waiter = waiting(scene, scene.b().getLock(scene.name()));
        String channel = PlainLockGroup.CHANNEL + "{" + scene.name() + "}";
        Raw raw = scene.raw();
        Raw listener = scene.raw();
        listener.send("SUBSCRIBE", channel);
        listener.read();
        raw.call("CLOCK.ADVANCE", never(), "NOWAKE");
        Check.equal(0L, raw.number("EXISTS", scene.name()));
        listener.send("PING");
        Check.equal(List.of("pong", ""), listener.read());
        Check.that(!waiter.done(), "the waiter still waits");
        raw.call("PUBLISH", channel, "0");
        Check.that(waiter.get(), "the waiter holds it");
    }

    private static void nativeLeaseWakes(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        raw.call("LOCK.ACQUIRE", scene.name(), "native", "PX", never());
        Task<Boolean> waiter = waiting(scene, scene.b().getLock(scene.name()));
        raw.call("CLOCK.ADVANCE", never());
        Check.that(waiter.get(), "the waiter holds it");
    }

    /** The head of the queue is woken, and its action wakes the next waiter. */
    private static void fairHeadWakes(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        scene.a().getFairLock(scene.name()).lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 3; i++) {
            int number = i;
            RLock lock = (i % 2 == 0 ? scene.b() : scene.a()).getFairLock(scene.name());
            Task<Void> waiter = scene.start(() -> {
                lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
                served.add(number);
                lock.unlock();
                return null;
            });
            String queue = "redisson_lock_queue:{" + scene.name() + "}";
            scene.until("waiter " + i + " stands in the queue", () -> raw.number("LLEN", queue) == number + 1);
            waiter.untilItWaitsForAMessage();
        }
        raw.call("CLOCK.ADVANCE", never());
        for (Task<?> task : scene.tasks()) {
            task.get();
        }
        Check.equal(List.of(0, 1, 2), served);
    }

    private static void writerWakes(Scene scene) throws Throwable {
        RReadWriteLock a = scene.a().getReadWriteLock(scene.name());
        a.readLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Task<Boolean> writer = waiting(scene, scene.b().getReadWriteLock(scene.name()).writeLock());
        scene.raw().call("CLOCK.ADVANCE", never());
        Check.that(writer.get(), "the writer holds it");
    }

    /** One message wakes all readers. */
    private static void readersWake(Scene scene) throws Throwable {
        RReadWriteLock a = scene.a().getReadWriteLock(scene.name());
        a.writeLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        List<Task<Boolean>> readers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            readers.add(waiting(scene, scene.b().getReadWriteLock(scene.name()).readLock()));
        }
        scene.raw().call("CLOCK.ADVANCE", never());
        for (Task<Boolean> reader : readers) {
            Check.that(reader.get(), "the reader holds it");
        }
    }
}
