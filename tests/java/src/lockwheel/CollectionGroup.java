package lockwheel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RList;
import org.redisson.api.RMap;
import org.redisson.api.RMapCache;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RSet;
import org.redisson.client.protocol.ScoredEntry;

/** List, set, map, map cache, scored sorted set. */
final class CollectionGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("list.all", CollectionGroup::list));
        scenarios.add(new Scenario("set.all", CollectionGroup::set));
        scenarios.add(new Scenario("map.all", CollectionGroup::map));
        scenarios.add(new Scenario("map.large", CollectionGroup::largeMap));
        scenarios.add(new Scenario("map-cache.all", CollectionGroup::mapCache));
        scenarios.add(new Scenario("scored-sorted-set.all", CollectionGroup::scored));
    }

    private static void list(Scene scene) throws Throwable {
        RList<String> list = scene.a().getList(scene.name());
        Check.that(list.isEmpty(), "it is new");
        list.addAll(Arrays.asList("a", "b", "c", "b", "e"));
        list.add(1, "inserted");
        Check.equal(List.of("a", "inserted", "b", "c", "b", "e"), scene.raw().texts("LRANGE", scene.name(), "0", "-1"));
        Check.equal("b", list.get(2));
        Check.equal(2, list.indexOf("b"));
        Check.equal(4, list.lastIndexOf("b"));
        Check.equal("c", list.set(3, "C"));
        Check.equal("inserted", list.remove(1));
        Check.that(list.remove("b"), "one was there");
        Check.equal(List.of("a", "C", "b", "e"), list.readAll());
        Check.that(list.contains("e") && !list.contains("z"), "what is in it");
        Check.equal(List.of("C", "b"), new ArrayList<>(list.subList(1, 3)));
        Check.that(list.retainAll(Set.of("a", "e")), "it changed");
        Check.equal(List.of("a", "e"), new ArrayList<>(list));
        Check.equal(2, scene.b().getList(scene.name()).size());
        Check.throwing(IndexOutOfBoundsException.class, ignored -> list.set(9, "x"));
    }

    private static void set(Scene scene) throws Throwable {
        RSet<String> set = scene.a().getSet(scene.name());
        Check.that(set.add("x") && !set.add("x"), "a member once");
        Check.that(set.addAll(List.of("y", "z")), "it changed");
        Check.that(set.contains("y") && !set.contains("w"), "what is in it");
        Check.equal(Set.of("x", "y", "z"), set.readAll());
        Check.equal(Set.of("x", "y", "z"), new TreeSet<>(set));
        scene.b().getSet(scene.name("other")).addAll(List.of("y", "z", "w"));
        Check.equal(Set.of("y", "z"), set.readIntersection(scene.name("other")));
        Check.equal(Set.of("x"), set.readDiff(scene.name("other")));
        Check.equal(Set.of("w", "x", "y", "z"), set.readUnion(scene.name("other")));
        Check.that(set.move(scene.name("other"), "x"), "it was there");
        Check.that(set.remove("y") && !set.remove("y"), "removed once");
        Check.that(set.containsAll(List.of("z")), "what is left");
        Check.equal("z", set.random());
        Check.equal("z", set.removeRandom());
        Check.equal(0L, scene.raw().number("EXISTS", scene.name()));
    }

    private static void map(Scene scene) throws Throwable {
        RMap<String, String> map = scene.a().getMap(scene.name());
        Check.equal(null, map.put("a", "1"));
        Check.equal("1", map.put("a", "2"));
        Check.equal("2", map.putIfAbsent("a", "3"));
        Check.equal(null, map.putIfAbsent("b", "3"));
        Check.that(map.fastPut("c", "4") && !map.fastPut("c", "5"), "whether the field is new");
        Check.equal(Map.of("a", "2", "b", "3", "c", "5"), scene.raw().hash(scene.name()));
        Check.equal("2", map.replace("a", "x"));
        Check.equal(null, map.replace("no such", "x"));
        Check.that(map.replace("a", "x", "y") && !map.replace("a", "x", "z"), "only what is as expected");
        Check.that(!map.remove("b", "no") && map.remove("b", "3"), "only what is as expected");
        Check.equal("5", map.remove("c"));
        map.putAll(Map.of("n", "10", "m", "1"));
        Check.equal(15L, scene.a().<String, Long>getMap(scene.name()).addAndGet("n", 5L));
        Check.equal(Map.of("a", "y", "m", "1"), map.getAll(Set.of("a", "m", "no such")));
        Check.that(map.containsKey("a") && !map.containsKey("b"), "which fields are there");
        Check.that(map.containsValue("y") && !map.containsValue("x"), "which values are there");
        Check.equal(2L, map.fastRemove("a", "m", "no such"));
        Check.equal(Map.of("n", "15"), map.readAllMap());
        Check.equal(1, scene.b().getMap(scene.name()).size());
    }

    /** The size is too large for a flat list, and needs several scans. */
    private static void largeMap(Scene scene) throws Throwable {
        Map<String, String> expected = new TreeMap<>();
        for (int i = 0; i < 1_000; i++) {
            expected.put("field-" + i, "value-" + i);
        }
        RMap<String, String> map = scene.a().getMap(scene.name());
        map.putAll(expected);
        Map<String, String> scanned = new TreeMap<>();
        map.entrySet().forEach(entry -> scanned.put(entry.getKey(), entry.getValue()));
        Check.equal(expected, scanned);
        Check.equal(expected, new TreeMap<>(map.readAllMap()));
        Check.equal(1_000, map.size());
    }

    private static void mapCache(Scene scene) throws Throwable {
        RMapCache<String, String> cache = scene.a().getMapCache(scene.name());
        Check.equal(null, cache.put("stays", "1"));
        Check.equal(null, cache.put("goes", "2", 300, TimeUnit.MILLISECONDS));
        Check.equal(null, cache.putIfAbsent("idle", "3", 0, TimeUnit.MILLISECONDS, 300, TimeUnit.MILLISECONDS));
        Check.that(cache.fastPut("long", "4", Scene.NEVER, TimeUnit.MILLISECONDS), "the field is new");
        Raw raw = scene.raw();
        Check.equal(4L, raw.number("HLEN", scene.name()));
        Check.equal(2L, raw.number("ZCARD", "redisson__timeout__set:{" + scene.name() + "}"));
        Check.equal(1L, raw.number("ZCARD", "redisson__idle__set:{" + scene.name() + "}"));
        RMapCache<String, String> ofB = scene.b().getMapCache(scene.name());
        scene.until("the field is gone with its time", () -> ofB.get("goes") == null);
        // Reading would keep an idle field alive; only an unread field expires.
        Thread.sleep(400);
        Check.equal(null, ofB.get("idle"));
        Check.equal("4", ofB.get("long"));
        Check.equal("1", ofB.remove("stays"));
        Check.equal(Map.of("long", "4"), ofB.readAllMap());
    }

    private static void scored(Scene scene) throws Throwable {
        RScoredSortedSet<String> set = scene.a().getScoredSortedSet(scene.name());
        Check.that(set.add(1.5, "low") && !set.add(1.25, "low"), "a member once");
        set.addAll(Map.of("mid", 10d, "high", 1e20));
        Check.equal(List.of("low", "1.25", "mid", "10", "high", "1e+20"),
                scene.raw().texts("ZRANGE", scene.name(), "0", "-1", "WITHSCORES"));
        Check.equal(1, set.rank("mid"));
        Check.equal(0, set.revRank("high"));
        Check.equal(1.25, set.getScore("low"));
        Check.equal(null, set.getScore("no such"));
        Check.equal(12.5, set.addScore("mid", 2.5));
        Check.equal(List.of("low", "mid"), List.copyOf(set.valueRange(0, true, 100, false)));
        List<String> entries = new ArrayList<>();
        for (ScoredEntry<String> entry : set.entryRange(0, -1)) {
            entries.add(entry.getValue() + "=" + entry.getScore());
        }
        Check.equal(List.of("low=1.25", "mid=12.5", "high=1.0E20"), entries);
        Check.equal(2L, (long) set.count(12.5, true, Double.POSITIVE_INFINITY, true));
        Check.equal("low", set.pollFirst());
        Check.equal("high", set.pollLast());
        Check.that(set.contains("mid") && !set.contains("low"), "what is in it");
        Check.equal("mid", set.first());
        Check.equal(1, set.removeRangeByScore(12, true, 13, true));
        Check.that(set.isEmpty(), "nothing is left");
    }
}
