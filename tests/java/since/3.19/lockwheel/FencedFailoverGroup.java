package lockwheel;

import java.util.List;
import org.redisson.api.RFencedLock;

/** The fenced lock: after a replica has taken over, its tokens continue. */
public final class FencedFailoverGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("failover.fenced", FencedFailoverGroup::tokens));
    }

    private static void tokens(Scene scene) throws Throwable {
        RFencedLock lock = scene.a().getFencedLock(scene.name());
        Check.equal(1L, lock.lockAndGetToken());
        lock.unlock();
        FailoverGroup.keeps(scene, lock, scene.b().getFencedLock(scene.name()));
        long token = lock.lockAndGetToken();
        Check.that(token > 2, "it is greater than those before: " + token);
        lock.unlock();
    }
}
