package lockwheel;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.redisson.api.LocalCachedMapOptions;
import org.redisson.api.RLiveObjectService;
import org.redisson.api.RLocalCachedMap;
import org.redisson.api.RedissonClient;
import org.redisson.api.annotation.REntity;
import org.redisson.api.annotation.RId;
import org.redisson.api.annotation.RIndex;
import org.redisson.api.condition.Conditions;
import org.redisson.client.codec.StringCodec;

/** Objects that are partly cached by the clients: maps with a local cache, and objects whose fields are a hash. */
@SuppressWarnings("deprecation") // Newer versions have other names for the same; all have these.
public final class LocalCacheGroup implements Groups.Group {
    /** An object whose fields are those of a hash. */
    @REntity
    public static class Parcel {
        @RId
        private String number;

        @RIndex
        private String town;

        private String grams;

        /** Live objects are created without arguments. */
        public Parcel() {}

        Parcel(String number, String town, String grams) {
            this.number = number;
            this.town = town;
            this.grams = grams;
        }

        public String getNumber() {
            return number;
        }

        public void setNumber(String number) {
            this.number = number;
        }

        public String getTown() {
            return town;
        }

        public void setTown(String town) {
            this.town = town;
        }

        public String getGrams() {
            return grams;
        }

        public void setGrams(String grams) {
            this.grams = grams;
        }
    }

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("local-cached-map.invalidates", scene -> cached(scene, LocalCachedMapOptions.SyncStrategy.INVALIDATE)));
        scenarios.add(new Scenario("local-cached-map.updates", scene -> cached(scene, LocalCachedMapOptions.SyncStrategy.UPDATE)));
        scenarios.add(new Scenario("live-object.all", LocalCacheGroup::live));
    }

    private static void cached(Scene scene, LocalCachedMapOptions.SyncStrategy strategy) throws Throwable {
        RLocalCachedMap<String, String> a = map(scene.a(), scene, strategy);
        RLocalCachedMap<String, String> b = map(scene.b(), scene, strategy);
        a.putAll(Map.of("x", "1", "y", "2"));
        Check.equal(Map.of("x", "1", "y", "2"), scene.raw().hash(scene.name()));
        scene.until("the other cache is told", () -> b.getAll(Set.of("x", "y")).equals(Map.of("x", "1", "y", "2")));
        b.put("x", "3");
        scene.until("this cache is told", () -> "3".equals(a.get("x")));
        Check.equal("3", a.getCachedMap().get("x"));
        // A client does not request values that it has cached.
        scene.raw().call("HSET", scene.name(), "x", "4");
        Check.equal("3", a.get("x"));
        a.clearLocalCache();
        Check.equal("4", a.get("x"));
        b.preloadCache();
        Check.equal(Map.of("x", "4", "y", "2"), b.getCachedMap());
        Check.equal(2L, a.fastRemove("x", "y"));
        scene.until("both are gone there too", () -> b.getCachedMap().isEmpty() && b.get("x") == null);
        a.destroy();
        b.destroy();
    }

    private static RLocalCachedMap<String, String> map(
            RedissonClient client, Scene scene, LocalCachedMapOptions.SyncStrategy strategy) {
        LocalCachedMapOptions<String, String> options =
                LocalCachedMapOptions.<String, String>defaults().syncStrategy(strategy);
        return client.getLocalCachedMap(scene.name(), StringCodec.INSTANCE, options);
    }

    private static void live(Scene scene) throws Throwable {
        RLiveObjectService a = scene.a().getLiveObjectService();
        RLiveObjectService b = scene.b().getLiveObjectService();
        Parcel first = a.persist(new Parcel("1", "Ulm", "500"));
        Parcel second = a.persist(new Parcel("2", "Ulm", "700"));
        a.persist(new Parcel("3", "Bonn", "900"));
        Parcel seen = b.get(Parcel.class, "1");
        Check.equal("Ulm", seen.getTown());
        seen.setTown("Bonn");
        Check.equal("Bonn", first.getTown());
        Check.equal(Set.of("1", "3"), numbers(b, "Bonn"));
        Check.equal(Set.of("2"), numbers(a, "Ulm"));
        Check.that(a.isExists(second), "it was made");
        Check.equal(null, b.get(Parcel.class, "none"));
        Parcel detached = b.detach(seen);
        Check.equal("Bonn", detached.getTown());
        detached.setGrams("501");
        a.merge(detached);
        Check.equal("501", b.asRMap(seen).get("grams"));
        a.delete(second);
        Check.that(!b.isExists(second), "it is gone");
        Check.equal(Set.of(), numbers(b, "Ulm"));
        Check.equal(2L, a.delete(Parcel.class, "1", "3"));
    }

    private static Set<String> numbers(RLiveObjectService service, String town) {
        Set<String> numbers = new HashSet<>();
        for (Parcel parcel : service.find(Parcel.class, Conditions.eq("town", town))) {
            numbers.add(parcel.getNumber());
        }
        return numbers;
    }
}
