package lockwheel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;

/** The fair lock: first come, first served, over two clients. */
final class FairLockGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("fair-lock.order", FairLockGroup::order));
        scenarios.add(new Scenario("fair-lock.gives-up", FairLockGroup::givesUp));
    }

    private static String queue(Scene scene) {
        return "redisson_lock_queue:{" + scene.name() + "}";
    }

    private static String timeouts(Scene scene) {
        return "redisson_lock_timeout:{" + scene.name() + "}";
    }

    /** Five waiters of two clients are served in the order of the server's list. */
    private static void order(Scene scene) throws Throwable {
        int waiters = 5;
        Raw raw = scene.raw();
        RLock holder = scene.a().getFairLock(scene.name());
        holder.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        List<Integer> expected = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            int number = i;
            RLock lock = (i % 2 == 0 ? scene.b() : scene.a()).getFairLock(scene.name());
            Task<Void> waiter = scene.start(() -> {
                lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
                served.add(number);
                lock.unlock();
                return null;
            });
            expected.add(i);
            scene.until("waiter " + i + " stands in the queue", () -> raw.number("LLEN", queue(scene)) == number + 1);
            List<String> owners = raw.texts("LRANGE", queue(scene), "0", "-1");
            Check.that(owners.get(i).endsWith(":" + waiter.threadId()), "the last one in the queue came last");
            Check.equal((long) i + 1, raw.number("ZCARD", timeouts(scene)));
            waiter.untilItWaitsForAMessage();
        }
        Check.that(!scene.b().getFairLock(scene.name()).tryLock(), "nobody jumps the queue");
        holder.unlock();
        for (Task<?> task : scene.tasks()) {
            task.get();
        }
        Check.equal(expected, served);
        Check.equal(0L, raw.number("EXISTS", scene.name(), queue(scene), timeouts(scene)));
    }

    /** A waiter that gives up leaves the queue, and does not delay the next one. */
    private static void givesUp(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        RLock holder = scene.a().getFairLock(scene.name());
        holder.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.that(!scene.b().getFairLock(scene.name()).tryLock(200, TimeUnit.MILLISECONDS), "it is held all the time");
        scene.until("who gave up has left the queue", () -> raw.number("LLEN", queue(scene)) == 0);
        Task<Boolean> next = scene.start(() -> {
            RLock lock = scene.b().getFairLock(scene.name());
            lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            lock.unlock();
            return true;
        });
        next.untilItWaitsForAMessage();
        holder.unlock();
        Check.that(next.get(), "the next one is served");
        Check.equal(0L, raw.number("EXISTS", scene.name(), queue(scene)));
    }
}
