package lockwheel;

import java.util.List;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RateIntervalUnit;
import org.redisson.api.RateType;

/** The objects shared with native requests that Redisson's client has only since 3.7. */
public final class NativeRateGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("native-rate.counts", NativeRateGroup::counts));
        scenarios.add(new Scenario("native-read-write.release-wakes", NativeRateGroup::releaseWakes));
    }

    /** Both sides take from one rate. */
    @SuppressWarnings("deprecation") // The older form is the one that all versions have.
    private static void counts(Scene scene) throws Throwable {
        RRateLimiter limiter = scene.a().getRateLimiter(scene.name());
        Raw raw = scene.raw();
        Check.that(limiter.trySetRate(RateType.OVERALL, 3, 600, RateIntervalUnit.SECONDS), "it is new");
        Check.that(limiter.tryAcquire(1), "the first");
        Check.equal(List.of(1L, 1L), ((List<?>) raw.call("RATE.ACQUIRE", scene.name())).subList(0, 2));
        Check.equal(0L, ((List<?>) raw.call("RATE.ACQUIRE", scene.name(), "2")).get(0));
        Check.that(limiter.tryAcquire(1), "the last");
        Check.that(!limiter.tryAcquire(1), "none is left");
        Check.equal(0L, ((List<?>) raw.call("RATE.ACQUIRE", scene.name())).get(0));
    }

    /** Redisson's readers are woken by a native writer's release: 3.6 listens for another message. */
    private static void releaseWakes(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        raw.map("LOCK.ACQUIRE", scene.name(), "native", "EXCLUSIVE", "PX", "600000");
        Task<Boolean> waiter = scene.start(() -> {
            RReadWriteLock lock = scene.b().getReadWriteLock(scene.name());
            lock.readLock().lock();
            lock.readLock().unlock();
            return true;
        });
        waiter.untilItWaitsForAMessage();
        Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), "native"));
        Check.that(waiter.get(), "the reader is woken");
    }
}
