package lockwheel;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;

/** MultiLock and RedLock over three servers. */
@SuppressWarnings("deprecation") // RedLock is deprecated in newer versions and still used.
final class SeveralServersGroup implements Groups.Group {
    private static final int SERVERS = 3;

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("multi-lock.all-or-nothing", SeveralServersGroup::allOrNothing));
        scenarios.add(new Scenario("multi-lock.waits", SeveralServersGroup::waits));
        scenarios.add(new Scenario("red-lock.majority", SeveralServersGroup::majority));
    }

    private static RLock[] locks(Scene scene, boolean ofA) {
        RLock[] locks = new RLock[SERVERS];
        for (int i = 0; i < SERVERS; i++) {
            locks[i] = (ofA ? scene.a(i) : scene.b(i)).getLock(scene.name());
        }
        return locks;
    }

    /** The number of servers that hold the lock, counted without Redisson. */
    private static int held(Scene scene) throws Throwable {
        int held = 0;
        for (int i = 0; i < SERVERS; i++) {
            held += (int) scene.raw(i).number("EXISTS", scene.name());
        }
        return held;
    }

    private static void allOrNothing(Scene scene) throws Throwable {
        RLock[] ofB = locks(scene, false);
        RedissonMultiLock multi = new RedissonMultiLock(locks(scene, true));
        multi.lock();
        Check.equal(SERVERS, held(scene));
        for (RLock lock : ofB) {
            Check.that(!lock.tryLock(), "a part of a held lock");
        }
        multi.unlock();
        Check.equal(0, held(scene));
        Check.that(ofB[1].tryLock(), "a single part");
        Check.that(!multi.tryLock(), "all parts while one is held");
        scene.until("the parts taken in vain are given back", () -> {
            try {
                return held(scene) == 1;
            } catch (Throwable failed) {
                throw new AssertionError(failed);
            }
        });
        ofB[1].unlock();
        Check.that(multi.tryLock(), "all parts are free again");
        multi.unlock();
    }

    private static void waits(Scene scene) throws Throwable {
        RLock[] ofB = locks(scene, false);
        ofB[2].lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Task<Boolean> waiter = scene.start(() -> {
            RedissonMultiLock multi = new RedissonMultiLock(locks(scene, true));
            boolean locked = multi.tryLock(Scene.NEVER, Scene.NEVER, TimeUnit.MILLISECONDS);
            if (locked) {
                multi.unlock();
            }
            return locked;
        });
        waiter.untilItWaitsForAMessage();
        ofB[2].unlock();
        Check.that(waiter.get(), "the last part becomes free");
        Check.equal(0, held(scene));
    }

    /** A minority held by another owner does not matter; a majority does, and nothing is left behind. */
    private static void majority(Scene scene) throws Throwable {
        RLock[] ofB = locks(scene, false);
        RedissonRedLock red = new RedissonRedLock(locks(scene, true));
        Check.that(ofB[0].tryLock(), "one part");
        Check.that(red.tryLock(), "two of three are enough");
        Check.equal(SERVERS, held(scene));
        red.unlock();
        scene.until("only the foreign part is left", () -> !ofB[1].isLocked() && !ofB[2].isLocked());
        Check.that(ofB[0].isHeldByCurrentThread(), "the foreign part is not touched");
        Check.that(ofB[1].tryLock(), "a second part");
        Check.that(!red.tryLock(), "one of three is not enough");
        scene.until("the third part is given back", () -> !ofB[2].isLocked());
        ofB[0].unlock();
        ofB[1].unlock();
        Check.equal(0, held(scene));
    }
}
