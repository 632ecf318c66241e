package lockwheel;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;

/** The count-down latch. */
final class LatchGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("latch.counts", LatchGroup::counts));
        scenarios.add(new Scenario("latch.woken-by-message", LatchGroup::wokenByMessage));
    }

    private static void counts(Scene scene) throws Throwable {
        RCountDownLatch a = scene.a().getCountDownLatch(scene.name());
        RCountDownLatch b = scene.b().getCountDownLatch(scene.name());
        Check.that(a.trySetCount(2), "the count is new");
        Check.that(!b.trySetCount(5), "the count is there");
        Check.equal("2", scene.raw().text("GET", scene.name()));
        b.countDown();
        Check.equal(1L, a.getCount());
        Check.that(!a.await(200, TimeUnit.MILLISECONDS), "one is still to come");
        a.countDown();
        Check.equal(0L, b.getCount());
        Check.equal(0L, scene.raw().number("EXISTS", scene.name()));
        Check.that(b.await(scene.patience(), TimeUnit.MILLISECONDS), "an open latch holds nobody");
    }

    /** Both waiters continue when the count reaches zero, and neither before. */
    private static void wokenByMessage(Scene scene) throws Throwable {
        RCountDownLatch latch = scene.a().getCountDownLatch(scene.name());
        latch.trySetCount(2);
        for (int i = 0; i < 2; i++) {
            RCountDownLatch own = (i == 0 ? scene.a() : scene.b()).getCountDownLatch(scene.name());
            scene.start(() -> own.await(Scene.NEVER, TimeUnit.MILLISECONDS)).untilItWaitsForAMessage();
        }
        latch.countDown();
        for (Task<?> waiter : scene.tasks()) {
            waiter.untilItWaitsForAMessage();
        }
        latch.countDown();
        for (Task<?> waiter : scene.tasks()) {
            Check.equal(true, waiter.get());
        }
    }
}
