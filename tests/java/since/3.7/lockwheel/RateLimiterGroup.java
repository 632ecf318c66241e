package lockwheel;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateIntervalUnit;
import org.redisson.api.RateType;

/** The rate limiter. */
@SuppressWarnings("deprecation") // Newer versions prefer durations; all that have the class have these.
public final class RateLimiterGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("rate-limiter.limits", RateLimiterGroup::limits));
        scenarios.add(new Scenario("rate-limiter.waits", RateLimiterGroup::waits));
    }

    /** One rate for all clients, and one for each of them. */
    private static void limits(Scene scene) throws Throwable {
        RRateLimiter a = scene.a().getRateLimiter(scene.name());
        RRateLimiter b = scene.b().getRateLimiter(scene.name());
        Check.that(a.trySetRate(RateType.OVERALL, 3, 1, RateIntervalUnit.HOURS), "the rate is new");
        Check.that(!b.trySetRate(RateType.OVERALL, 9, 1, RateIntervalUnit.HOURS), "the rate is there");
        Check.that(a.tryAcquire() && b.tryAcquire(2), "three an hour");
        Check.that(!a.tryAcquire() && !b.tryAcquire(), "a fourth one");
        Check.equal("3", scene.raw().hash(scene.name()).get("rate"));
        Check.equal("0", scene.raw().text("GET", "{" + scene.name() + "}:value"));
        RRateLimiter ownOfA = scene.a().getRateLimiter(scene.name("each"));
        RRateLimiter ownOfB = scene.b().getRateLimiter(scene.name("each"));
        ownOfA.trySetRate(RateType.PER_CLIENT, 1, 1, RateIntervalUnit.HOURS);
        Check.that(ownOfA.tryAcquire() && ownOfB.tryAcquire(), "one an hour for each client");
        Check.that(!ownOfA.tryAcquire() && !ownOfB.tryAcquire(), "a second one for each client");
    }

    private static void waits(Scene scene) throws Throwable {
        RRateLimiter limiter = scene.a().getRateLimiter(scene.name());
        limiter.trySetRate(RateType.OVERALL, 1, 1, RateIntervalUnit.SECONDS);
        long start = System.nanoTime();
        limiter.acquire();
        Check.that(limiter.tryAcquire(1, scene.patience(), TimeUnit.MILLISECONDS), "the next one, a second later");
        long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        Check.that(waited >= 900, "it waited for the next interval, got " + waited);
    }
}
