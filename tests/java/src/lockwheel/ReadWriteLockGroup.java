package lockwheel;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RReadWriteLock;

/** The read-write lock: shared and exclusive holds, and the change from one to the other. */
final class ReadWriteLockGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("read-write-lock.shares", ReadWriteLockGroup::shares));
        scenarios.add(new Scenario("read-write-lock.downgrade", ReadWriteLockGroup::downgrade));
        scenarios.add(new Scenario("read-write-lock.writer-woken", ReadWriteLockGroup::writerWoken));
        scenarios.add(new Scenario("read-write-lock.read-lease", ReadWriteLockGroup::readLease));
    }

    private static void shares(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        RReadWriteLock a = scene.a().getReadWriteLock(scene.name());
        RReadWriteLock b = scene.b().getReadWriteLock(scene.name());
        a.readLock().lock();
        Check.that(b.readLock().tryLock(), "readers share");
        Check.that(!b.writeLock().tryLock(), "a writer beside readers");
        Map<String, String> hash = raw.hash(scene.name());
        Check.equal("read", hash.get("mode"));
        Check.equal(3, hash.size());
        List<String> holds = raw.texts("KEYS", "{" + scene.name() + "}:*:rwlock_timeout:1");
        Check.equal(2, holds.size());
        Check.within(1, Clients.DEFAULT_WATCHDOG, raw.number("PTTL", holds.get(0)), "PTTL of a read hold");
        a.readLock().unlock();
        Check.that(!a.writeLock().tryLock(), "a writer beside the last reader");
        b.readLock().unlock();
        Check.equal(0L, raw.number("EXISTS", scene.name()));
        Check.that(a.writeLock().tryLock(), "a writer alone");
        hash = raw.hash(scene.name());
        Check.equal("write", hash.get("mode"));
        Check.that(hash.keySet().stream().anyMatch(field -> field.endsWith(":write")), "the writer's field " + hash);
        Check.that(!b.readLock().tryLock(), "a reader beside a writer");
        Check.that(!b.writeLock().tryLock(), "a writer beside a writer");
        a.writeLock().unlock();
        Check.equal(List.of(), raw.texts("KEYS", "{" + scene.name() + "}:*:rwlock_timeout:*"));
    }

    /** The writer also reads, ends its write hold, and is then a reader among readers. */
    private static void downgrade(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        RReadWriteLock a = scene.a().getReadWriteLock(scene.name());
        RReadWriteLock b = scene.b().getReadWriteLock(scene.name());
        a.writeLock().lock();
        a.readLock().lock();
        Check.equal("write", raw.hash(scene.name()).get("mode"));
        Check.that(!b.readLock().tryLock(), "a reader beside a writer");
        a.writeLock().unlock();
        // No version publishes a message here: a waiting reader is admitted only when the writer's lease is over.
        Check.equal("read", raw.hash(scene.name()).get("mode"));
        Check.that(b.readLock().tryLock(), "a reader beside a reader");
        b.readLock().unlock();
        Check.that(!b.writeLock().tryLock(), "a writer beside a reader");
        a.readLock().unlock();
        Check.equal(0L, raw.number("EXISTS", scene.name()));
    }

    private static void writerWoken(Scene scene) throws Throwable {
        RReadWriteLock a = scene.a().getReadWriteLock(scene.name());
        a.readLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        Task<Boolean> writer = scene.start(() -> {
            RReadWriteLock b = scene.b().getReadWriteLock(scene.name());
            b.writeLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            b.writeLock().unlock();
            return true;
        });
        writer.untilItWaitsForAMessage();
        scene.untilSubscribed("redisson_rwlock:{" + scene.name() + "}");
        a.readLock().unlock();
        Check.that(writer.get(), "the writer is woken by the last reader");
    }

    /** A reader that never unlocks loses its hold with its lease. */
    private static void readLease(Scene scene) throws Throwable {
        RReadWriteLock a = scene.a().getReadWriteLock(scene.name());
        RReadWriteLock b = scene.b().getReadWriteLock(scene.name());
        a.readLock().lock(300, TimeUnit.MILLISECONDS);
        Check.that(b.writeLock().tryLock(scene.patience(), Scene.NEVER, TimeUnit.MILLISECONDS), "the lease ends");
        b.writeLock().unlock();
    }
}
