package lockwheel;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;

/** Fenced locks of both kinds on one key: one counter gives the tokens of both. */
public final class NativeFencedGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("native-fenced.tokens", NativeFencedGroup::tokens));
    }

    private static void tokens(Scene scene) throws Throwable {
        RFencedLock lock = scene.a().getFencedLock(scene.name());
        Raw raw = scene.raw();
        String counter = "redisson_lock_token:{" + scene.name() + "}";
        Check.equal(1L, lock.lockAndGetToken());
        Check.equal(null, raw.map("LOCK.ACQUIRE", scene.name(), "native", "FENCED"));
        lock.unlock();
        Map<String, Object> grant = raw.map("LOCK.ACQUIRE", scene.name(), "native", "FENCED", "PX", "600000");
        Check.equal(2L, grant.get("token"));
        Check.equal(Map.of("native", "1"), raw.hash(scene.name()));
        Check.equal(2L, lock.getToken());
        Check.that(!lock.tryLock(), "it is held natively");
        Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), "native"));
        Check.equal(3L, lock.tryLockAndGetToken(scene.patience(), Scene.NEVER, TimeUnit.MILLISECONDS));
        lock.unlock();
        Check.equal("3", raw.text("GET", counter));
        Check.equal(0L, raw.number("EXISTS", scene.name()));
    }
}
