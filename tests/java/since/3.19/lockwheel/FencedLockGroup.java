package lockwheel;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;

/** The fenced lock: every hold has a token greater than all earlier ones. */
public final class FencedLockGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("fenced-lock.tokens", FencedLockGroup::tokens));
    }

    private static void tokens(Scene scene) throws Throwable {
        RFencedLock a = scene.a().getFencedLock(scene.name());
        RFencedLock b = scene.b().getFencedLock(scene.name());
        Check.equal(1L, a.lockAndGetToken());
        Check.that(!b.tryLock(), "b gets what a holds");
        a.unlock();
        Check.equal(2L, b.tryLockAndGetToken(scene.patience(), Scene.NEVER, TimeUnit.MILLISECONDS));
        Check.equal(2L, a.getToken());
        b.unlock();
        Check.equal("2", scene.raw().text("GET", "redisson_lock_token:{" + scene.name() + "}"));
    }
}
