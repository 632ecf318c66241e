package lockwheel;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.redisson.api.RBatch;
import org.redisson.api.RBitSet;
import org.redisson.api.RBloomFilter;
import org.redisson.api.RHyperLogLog;
import org.redisson.api.RScoredSortedSet;

/** Bit set, Bloom filter, HyperLogLog, unions of scored sorted sets, and a batch over all of them. */
final class SketchGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("bit-set.all", SketchGroup::bitSet));
        scenarios.add(new Scenario("bloom-filter.all", SketchGroup::bloomFilter));
        scenarios.add(new Scenario("hyper-log-log.all", SketchGroup::hyperLogLog));
        scenarios.add(new Scenario("scored-sorted-set.unions", SketchGroup::unions));
        scenarios.add(new Scenario("batch.of-sketches", SketchGroup::batch));
    }

    private static void bitSet(Scene scene) throws Throwable {
        RBitSet bits = scene.a().getBitSet(scene.name());
        bits.set(3);
        bits.set(10, 14);
        Check.that(bits.get(3) && bits.get(13) && !bits.get(14), "which bits are set");
        Check.equal(5L, bits.cardinality());
        Check.equal(14L, bits.length());
        Check.equal(16L, bits.size());
        bits.clear(10, 12);
        BitSet expected = new BitSet();
        expected.set(3);
        expected.set(12, 14);
        Check.equal(expected, bits.asBitSet());
        RBitSet other = scene.b().getBitSet(scene.name("other"));
        other.set(expected);
        other.set(100, true);
        bits.or(other.getName());
        Check.equal(4L, bits.cardinality());
        bits.and(other.getName());
        bits.xor(other.getName());
        Check.equal(0L, bits.cardinality());
        other.not();
        Check.that(!other.get(3) && other.get(4), "the opposite");
    }

    private static void bloomFilter(Scene scene) throws Throwable {
        RBloomFilter<String> filter = scene.a().getBloomFilter(scene.name());
        Check.that(filter.tryInit(1_000, 0.01), "it is new");
        for (int i = 0; i < 500; i++) {
            filter.add("element " + i);
        }
        int wrong = 0;
        for (int i = 0; i < 500; i++) {
            Check.that(filter.contains("element " + i), "what was added is in it");
            wrong += filter.contains("stranger " + i) ? 1 : 0;
        }
        Check.that(wrong < 30, "few strangers are taken for members, got " + wrong);
        Check.within(480, 520, filter.count(), "the estimate");
        Check.equal(1_000L, filter.getExpectedInsertions());
    }

    private static void hyperLogLog(Scene scene) throws Throwable {
        RHyperLogLog<Integer> a = scene.a().getHyperLogLog(scene.name());
        RHyperLogLog<Integer> b = scene.b().getHyperLogLog(scene.name("other"));
        Check.that(a.add(1) && !a.add(1), "a member once");
        for (int i = 0; i < 1_000; i++) {
            a.add(i);
            b.add(i + 500);
        }
        Check.within(970, 1_030, a.count(), "the members of one");
        Check.within(1_450, 1_550, a.countWith(b.getName()), "those of both");
        long both = a.countWith(b.getName());
        a.mergeWith(b.getName());
        Check.equal(both, a.count());
    }

    private static void unions(Scene scene) throws Throwable {
        RScoredSortedSet<String> set = scene.a().getScoredSortedSet(scene.name());
        RScoredSortedSet<String> one = scene.a().getScoredSortedSet(scene.name("one"));
        RScoredSortedSet<String> two = scene.b().getScoredSortedSet(scene.name("two"));
        one.add(1, "a");
        one.add(2, "b");
        two.add(10, "b");
        two.add(20, "c");
        Check.equal(3, set.union(one.getName(), two.getName()));
        Check.equal(12.0, set.getScore("b"));
        Check.equal(Arrays.asList("a", "b", "c"), List.copyOf(set.readAll()));
        Check.equal(3, set.union(RScoredSortedSet.Aggregate.MAX, Map.of(one.getName(), 100.0, two.getName(), 1.0)));
        Check.equal(200.0, set.getScore("b"));
        Check.equal(1, set.intersection(RScoredSortedSet.Aggregate.MIN, one.getName(), two.getName()));
        Check.equal(2.0, set.getScore("b"));
        Check.equal(0, set.intersection(one.getName(), scene.name("none")));
        Check.equal(0L, scene.raw().number("EXISTS", scene.name()));
    }

    private static void batch(Scene scene) throws Throwable {
        for (RBatch batch : List.of(scene.a().createBatch(), Versions.atomicBatch(scene.a()))) {
            batch.getBitSet(scene.name("bits")).setAsync(7);
            batch.getHyperLogLog(scene.name("members")).addAsync("x");
            batch.getGeo(scene.name("places")).addAsync(13.361389, 38.115556, "Palermo");
            batch.getBitSet(scene.name("bits")).cardinalityAsync();
            batch.getHyperLogLog(scene.name("members")).countAsync();
            List<?> answers = List.copyOf((List<?>) Answers.of(batch.execute()));
            Check.equal(5, answers.size());
            Check.equal(List.of(1L, 1L), answers.subList(3, 5));
        }
        Check.equal("zset", scene.raw().text("TYPE", scene.name("places")));
    }

    /** The result of a batch: a list before 3.9, an object that contains one since. */
    private static final class Answers {
        static Object of(Object result) throws ReflectiveOperationException {
            return result instanceof List ? result : result.getClass().getMethod("getResponses").invoke(result);
        }
    }
}
