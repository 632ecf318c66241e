package lockwheel;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;

/** RLock and {@code LOCK.*} on one key. Only Lockwheel has the latter: see {@link Options#nativeLocks()}. */
final class NativeGroup implements Groups.Group {
    /** The native owner, if its name does not matter. */
    private static final String OWNER = "native";

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("native.excluded", NativeGroup::excluded));
        scenarios.add(new Scenario("native.excludes", NativeGroup::excludes));
        scenarios.add(new Scenario("native.granted-on-unlock", NativeGroup::grantedOnUnlock));
        scenarios.add(new Scenario("native.granted-on-force-unlock", NativeGroup::grantedOnForceUnlock));
        scenarios.add(new Scenario("native.release-wakes", NativeGroup::releaseWakes));
        scenarios.add(new Scenario("native.info", NativeGroup::info));
        scenarios.add(new Scenario("native.unlocked-by-thread", NativeGroup::unlockedByThread));
        scenarios.add(new Scenario("native.releases-for-thread", NativeGroup::releasesForThread));
    }

    /** Takes the scene's lock with a lease that does not end. Returns the grant, or null. */
    private static Map<String, Object> acquire(Scene scene, Raw raw, String owner) throws IOException {
        return raw.map("LOCK.ACQUIRE", scene.name(), owner, "PX", Long.toString(Scene.NEVER));
    }

    /** Sends the request of {@link #acquire} with a wait, and returns once the server knows of the wait. */
    private static Raw waiting(Scene scene) throws IOException {
        Raw waiter = scene.raw();
        waiter.send("LOCK.ACQUIRE", scene.name(), OWNER, "PX", Long.toString(Scene.NEVER), "BLOCK", "0");
        Check.equal(1L, scene.raw().call("AWAIT.BLOCKED", "1", "KEY", scene.name()));
        List<?> waiters = (List<?>) scene.raw().map("LOCK.INFO", scene.name()).get("waiters");
        Check.equal(1, waiters.size());
        Map<String, Object> shown = Raw.mapped((List<?>) waiters.get(0));
        Check.equal(OWNER, shown.get("owner"));
        Check.equal("native", shown.get("kind"));
        return waiter;
    }

    /** The only holder that LOCK.INFO shows. */
    private static Map<String, Object> holder(Scene scene, Raw raw) throws IOException {
        List<?> holders = (List<?>) raw.map("LOCK.INFO", scene.name()).get("holders");
        Check.equal(1, holders.size());
        return Raw.mapped((List<?>) holders.get(0));
    }

    /** Releases the last hold of the scene's lock: no scenario leaves one behind. */
    private static void release(Scene scene, Raw raw, String owner) throws IOException {
        Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), owner));
    }

    /** The name of this thread in the hash of the scene's lock, which it holds. */
    private static String ownName(Scene scene, Raw raw) throws IOException {
        String owner = (String) holder(scene, raw).get("owner");
        Check.that(owner.endsWith(":" + Thread.currentThread().getId()), "the owner is this thread, got " + owner);
        return owner;
    }

    /** An RLock excludes a native owner, who can neither release nor renew it. */
    private static void excluded(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Map<String, String> hash = raw.hash(scene.name());
        Check.equal(null, acquire(scene, raw, OWNER));
        Check.throwing(Raw.ErrorReply.class, ignored -> raw.call("LOCK.RELEASE", scene.name(), OWNER));
        Check.equal(List.of(0L), raw.call("LOCK.RENEW", "1", scene.name(), OWNER, "PX", "1"));
        Check.within(Scene.NEVER / 2, Scene.NEVER, raw.number("PTTL", scene.name()), "PTTL");
        Check.equal(hash, raw.hash(scene.name()));
        lock.unlock();
        Check.equal(1L, acquire(scene, raw, OWNER).get("holds"));
        release(scene, raw, OWNER);
    }

    /** A native hold excludes an RLock, which cannot unlock it. */
    private static void excludes(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        acquire(scene, raw, OWNER);
        Check.that(!lock.tryLock(), "the RLock gets what is held natively");
        Check.that(lock.isLocked() && !lock.isHeldByCurrentThread(), "the RLock sees that it is held, by another");
        Check.throwing(IllegalMonitorStateException.class, ignored -> lock.unlock());
        Check.equal("native", holder(scene, raw).get("kind"));
        release(scene, raw, OWNER);
        Check.that(lock.tryLock(), "the RLock gets what is free");
        lock.unlock();
    }

    /** The last of the unlocks, and no earlier one, grants the lock to the native waiter. */
    private static void grantedOnUnlock(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Raw waiter = waiting(scene);
        lock.unlock();
        Check.that(lock.isHeldByCurrentThread(), "one hold is left");
        lock.unlock();
        Map<String, Object> grant = Raw.mapped((List<?>) waiter.read());
        Check.equal("released", grant.get("predecessor"));
        Check.equal(1L, grant.get("holds"));
        Check.that(!lock.tryLock(), "the native waiter has it now");
        release(scene, waiter, OWNER);
    }

    private static void grantedOnForceUnlock(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Raw waiter = waiting(scene);
        scene.b().getLock(scene.name()).forceUnlock();
        Map<String, Object> grant = Raw.mapped((List<?>) waiter.read());
        Check.equal(1L, grant.get("holds"));
        Check.equal("forced", grant.get("predecessor"));
        Check.throwing(IllegalMonitorStateException.class, ignored -> lock.unlock());
        Check.equal(Map.of(OWNER, "1"), waiter.hash(scene.name()));
        release(scene, waiter, OWNER);
    }

    /** A waiter behind a native lease that never ends is woken by the release: only its message can do that. */
    private static void releaseWakes(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        acquire(scene, raw, OWNER);
        Task<Boolean> waiter = scene.start(() -> {
            RLock lock = scene.b().getLock(scene.name());
            lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            boolean held = lock.isHeldByCurrentThread();
            lock.unlock();
            return held;
        });
        waiter.untilItWaitsForAMessage();
        List<?> waiters = (List<?>) raw.map("LOCK.INFO", scene.name()).get("waiters");
        // In a cluster, older versions subscribe at any node, and each node shows its own subscribers.
        if (scene.options().nodes().isEmpty() || !waiters.isEmpty()) {
            Check.equal(1, waiters.size());
            Check.equal("foreign", Raw.mapped((List<?>) waiters.get(0)).get("kind"));
        }
        release(scene, raw, OWNER);
        Check.that(waiter.get(), "the waiter holds it");
    }

    /** LOCK.INFO shows Redisson's holds: the owner, the count, the remaining lease. */
    private static void info(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Map<String, Object> info = raw.map("LOCK.INFO", scene.name());
        Check.equal("exclusive", info.get("mode"));
        Check.equal("hash", info.get("layout"));
        Check.within(Scene.NEVER / 2, Scene.NEVER, (Long) info.get("ttl"), "the time to live");
        Check.equal(List.of(), info.get("waiters"));
        Map<String, Object> holder = holder(scene, raw);
        Check.equal(raw.hash(scene.name()).keySet(), Set.of(ownName(scene, raw)));
        Check.equal(2L, holder.get("holds"));
        Check.equal("foreign", holder.get("kind"));
        Check.equal(null, holder.get("token"));
        Check.that((Long) holder.get("grant") > 0, "what the server has seen it take has a grant");
        lock.unlock();
        Check.equal(1L, holder(scene, raw).get("holds"));
        lock.unlock();
        Check.equal("free", raw.map("LOCK.INFO", scene.name()).get("mode"));
    }

    /** A thread can re-enter and unlock a native hold in its name. */
    private static void unlockedByThread(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        String owner = ownName(scene, raw);
        lock.unlock();
        acquire(scene, raw, owner);
        Check.equal(2L, acquire(scene, raw, owner).get("holds"));
        Check.that(lock.isHeldByCurrentThread(), "it is this thread's");
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.equal(3, lock.getHoldCount());
        lock.unlock();
        lock.unlock();
        Check.equal(Map.of(owner, "1"), raw.hash(scene.name()));
        lock.unlock();
        Check.equal(0L, raw.number("EXISTS", scene.name()));
        Check.throwing(Raw.ErrorReply.class, ignored -> raw.call("LOCK.RELEASE", scene.name(), owner));
    }

    /** A thread's hold can be re-entered and released natively in its name; then the thread no longer holds it. */
    private static void releasesForThread(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        String owner = ownName(scene, raw);
        Check.equal(2L, acquire(scene, raw, owner).get("holds"));
        Check.equal(2, lock.getHoldCount());
        Check.equal(1L, raw.call("LOCK.RELEASE", scene.name(), owner));
        Check.that(lock.isHeldByCurrentThread(), "one hold is left");
        release(scene, raw, owner);
        Check.that(!lock.isLocked(), "the lock is free");
        // 3.6 unlocks a free lock without an error; it refuses to unlock another owner's.
        acquire(scene, raw, OWNER);
        Check.throwing(IllegalMonitorStateException.class, ignored -> lock.unlock());
        release(scene, raw, OWNER);
    }
}
