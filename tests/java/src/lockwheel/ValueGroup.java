package lockwheel;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBatch;
import org.redisson.api.RBucket;
import org.redisson.api.RKeys;
import org.redisson.api.RType;

/** Buckets, counters, batches, and the keys themselves. */
@SuppressWarnings("deprecation") // Newer versions have other names for the same; all four have these.
final class ValueGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("bucket.values", ValueGroup::values));
        scenarios.add(new Scenario("bucket.expires", ValueGroup::expires));
        scenarios.add(new Scenario("batch.results", ValueGroup::batch));
        scenarios.add(new Scenario("batch.atomic", ValueGroup::atomicBatch));
        scenarios.add(new Scenario("keys.all", ValueGroup::keys));
    }

    private static void values(Scene scene) throws Throwable {
        RBucket<String> a = scene.a().getBucket(scene.name());
        RBucket<String> b = scene.b().getBucket(scene.name());
        Check.equal(null, a.get());
        Check.that(a.trySet("one"), "the key is new");
        Check.that(!b.trySet("two"), "the key is there");
        Check.equal("one", b.get());
        Check.equal("one", b.getAndSet("two"));
        Check.that(!a.compareAndSet("one", "three"), "it is no longer that");
        Check.that(a.compareAndSet("two", "drei \u2192 three"), "it is that");
        Check.equal("drei \u2192 three", scene.raw().text("GET", scene.name()));
        Check.equal(14L, a.size());
        a.rename(scene.name("renamed"));
        Check.equal(null, b.get());
        RBucket<String> renamed = scene.b().getBucket(scene.name("renamed"));
        Check.that(renamed.delete(), "it was there, under its new name");
        Check.that(!renamed.delete(), "it is no longer there");
    }

    private static void expires(Scene scene) throws Throwable {
        RBucket<String> bucket = scene.a().getBucket(scene.name());
        bucket.set("long", Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.within(1, Scene.NEVER, bucket.remainTimeToLive(), "the time to live");
        Check.that(bucket.clearExpire(), "it had a time to live");
        Check.equal(-1L, bucket.remainTimeToLive());
        Check.that(bucket.expire(200, TimeUnit.MILLISECONDS), "it has one again");
        scene.until("it is gone", () -> !bucket.isExists());
        Check.equal(-2L, scene.raw().number("PTTL", scene.name()));
        Check.that(bucket.trySet("short", 200, TimeUnit.MILLISECONDS), "the key is new");
        scene.until("it is gone again", () -> bucket.get() == null);
    }

    private static void batch(Scene scene) throws Throwable {
        RBatch batch = scene.a().createBatch();
        batch.getBucket(scene.name()).setAsync("value");
        batch.getMap(scene.name("map")).fastPutAsync("field", "1");
        batch.getAtomicLong(scene.name("counter")).incrementAndGetAsync();
        batch.getAtomicLong(scene.name("counter")).addAndGetAsync(41);
        batch.getBucket(scene.name()).getAsync();
        List<?> results = responses(batch);
        Check.equal(5, results.size());
        Check.equal(List.of(true, 1L, 42L, "value"), results.subList(1, 5));
        RAtomicLong counter = scene.b().getAtomicLong(scene.name("counter"));
        Check.that(counter.compareAndSet(42, 7), "it is what the batch left");
        Check.equal(7L, counter.getAndDecrement());
        Check.equal("6", scene.raw().text("GET", scene.name("counter")));
    }

    private static void atomicBatch(Scene scene) throws Throwable {
        RBatch batch = Versions.atomicBatch(scene.a());
        for (int i = 0; i < 10; i++) {
            batch.getAtomicLong(scene.name()).incrementAndGetAsync();
        }
        List<?> results = responses(batch);
        Check.equal(10, results.size());
        Check.equal(10L, results.get(9));
        Check.equal("10", scene.raw().text("GET", scene.name()));
    }

    /** The results: a list until 3.9, an object that contains the list since. */
    private static List<?> responses(RBatch batch) throws ReflectiveOperationException {
        Object result = RBatch.class.getMethod("execute").invoke(batch);
        return result instanceof List ? (List<?>) result : (List<?>) result.getClass().getMethod("getResponses").invoke(result);
    }

    private static void keys(Scene scene) throws Throwable {
        RKeys keys = scene.a().getKeys();
        Raw raw = scene.raw();
        Set<String> names = new TreeSet<>();
        for (int i = 0; i < 25; i++) {
            names.add(scene.name("many" + i));
            raw.call("SET", scene.name("many" + i), "x");
        }
        Set<String> found = new TreeSet<>();
        keys.getKeysByPattern(scene.name("many*"), 7).forEach(found::add);
        Check.equal(names, found);
        Check.that(keys.count() >= 25, "at least these");
        Check.that(keys.randomKey() != null, "there is some key");
        raw.call("RPUSH", scene.name("list"), "x");
        Check.equal(RType.LIST, keys.getType(scene.name("list")));
        Check.equal(2L, keys.countExists(scene.name("many1"), scene.name("many2"), scene.name("no such")));
        Check.equal(1L, keys.touch(scene.name("many1"), scene.name("no such")));
        keys.rename(scene.name("many1"), scene.name("renamed"));
        Check.that(!keys.renamenx(scene.name("renamed"), scene.name("many2")), "the new name is taken");
        Check.that(keys.expire(scene.name("renamed"), Scene.NEVER, TimeUnit.MILLISECONDS), "it is there");
        Check.within(1, Scene.NEVER, keys.remainTimeToLive(scene.name("renamed")), "the time to live");
        Check.that(keys.clearExpire(scene.name("renamed")), "it had one");
        Check.equal(2L, keys.delete(scene.name("renamed"), scene.name("list"), scene.name("no such")));
        Check.equal(1L, keys.unlink(scene.name("many2")));
        Check.equal(23L, keys.deleteByPattern(scene.name("many*")));
    }
}
