package lockwheel;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;

/** The semaphore, and the one whose permits expire. */
final class SemaphoreGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("semaphore.counts", SemaphoreGroup::counts));
        scenarios.add(new Scenario("semaphore.woken-by-message", SemaphoreGroup::wokenByMessage));
        scenarios.add(new Scenario("permit-semaphore.counts", SemaphoreGroup::permits));
        scenarios.add(new Scenario("permit-semaphore.woken-by-message", SemaphoreGroup::permitWokenByMessage));
        scenarios.add(new Scenario("permit-semaphore.expires", SemaphoreGroup::permitExpires));
    }

    private static void counts(Scene scene) throws Throwable {
        RSemaphore a = scene.a().getSemaphore(scene.name());
        RSemaphore b = scene.b().getSemaphore(scene.name());
        Check.that(a.trySetPermits(3), "the count is new");
        Check.that(!b.trySetPermits(9), "the count is there");
        Check.that(a.tryAcquire(2), "two of three");
        Check.equal("1", scene.raw().text("GET", scene.name()));
        Check.that(!b.tryAcquire(2), "two of one");
        Check.that(b.tryAcquire(), "the last one");
        Check.that(!a.tryAcquire(1, 200, TimeUnit.MILLISECONDS), "one of none");
        b.release(3);
        Check.equal(3, a.availablePermits());
        Check.equal(3, a.drainPermits());
        Check.equal(0, b.availablePermits());
    }

    private static void wokenByMessage(Scene scene) throws Throwable {
        RSemaphore a = scene.a().getSemaphore(scene.name());
        a.trySetPermits(1);
        a.acquire();
        Task<Boolean> waiter = scene.start(() -> {
            scene.b().getSemaphore(scene.name()).acquire();
            return true;
        });
        waiter.untilItWaitsForAMessage();
        scene.untilSubscribed("redisson_sc:{" + scene.name() + "}");
        a.release();
        Check.that(waiter.get(), "the waiter is woken");
        Check.equal("0", scene.raw().text("GET", scene.name()));
    }

    private static void permits(Scene scene) throws Throwable {
        RPermitExpirableSemaphore a = scene.a().getPermitExpirableSemaphore(scene.name());
        RPermitExpirableSemaphore b = scene.b().getPermitExpirableSemaphore(scene.name());
        Check.that(a.trySetPermits(2), "the count is new");
        String first = a.acquire();
        String second = b.acquire(Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.that(first != null && second != null && !first.equals(second), "each permit has an id of its own");
        Check.equal(null, a.tryAcquire());
        Raw raw = scene.raw();
        Check.equal("0", raw.text("GET", scene.name()));
        Check.equal(2L, raw.number("ZCARD", "{" + scene.name() + "}:timeout"));
        a.release(first);
        Check.equal(1, b.availablePermits());
        Check.that(!a.tryRelease(first), "a permit is given back once");
        b.release(second);
        Check.equal(2, a.availablePermits());
    }

    private static void permitWokenByMessage(Scene scene) throws Throwable {
        RPermitExpirableSemaphore a = scene.a().getPermitExpirableSemaphore(scene.name());
        a.trySetPermits(1);
        String held = a.acquire();
        Task<String> waiter = scene.start(() -> scene.b().getPermitExpirableSemaphore(scene.name()).acquire());
        waiter.untilItWaitsForAMessage();
        a.release(held);
        Check.that(waiter.get() != null, "the waiter has a permit");
    }

    /** A permit that nobody returns is available again after its lease, and its holder cannot return it then. */
    private static void permitExpires(Scene scene) throws Throwable {
        RPermitExpirableSemaphore a = scene.a().getPermitExpirableSemaphore(scene.name());
        RPermitExpirableSemaphore b = scene.b().getPermitExpirableSemaphore(scene.name());
        a.trySetPermits(1);
        String lost = a.acquire(300, TimeUnit.MILLISECONDS);
        String next = b.tryAcquire(scene.patience(), Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.that(next != null, "the permit came back");
        Check.that(!a.tryRelease(lost), "the permit that expired");
        b.release(next);
        Check.equal(1, a.availablePermits());
    }
}
