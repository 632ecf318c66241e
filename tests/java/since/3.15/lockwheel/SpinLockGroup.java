package lockwheel;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;

/** The spin lock: RLock's layout without its messages. */
public final class SpinLockGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("spin-lock.excludes", SpinLockGroup::excludes));
    }

    private static void excludes(Scene scene) throws Throwable {
        RLock a = scene.a().getSpinLock(scene.name());
        RLock b = scene.b().getSpinLock(scene.name());
        a.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.that(!b.tryLock(), "b gets what a holds");
        Task<Boolean> waiter = scene.start(() -> {
            b.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            b.unlock();
            return true;
        });
        Check.equal(0L, scene.raw().subscribers(PlainLockGroup.CHANNEL + "{" + scene.name() + "}"));
        a.unlock();
        Check.that(waiter.get(), "the waiter comes by");
        Check.equal(0L, scene.raw().number("EXISTS", scene.name()));
    }
}
