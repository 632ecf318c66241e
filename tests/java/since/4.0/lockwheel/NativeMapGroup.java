package lockwheel;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.redisson.api.RMapCacheNative;
import org.redisson.client.codec.StringCodec;

/** Maps whose entries have deadlines in the server. */
public final class NativeMapGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("map-cache-native.all", NativeMapGroup::all));
    }

    private static void all(Scene scene) throws Throwable {
        Object known = ((List<?>) scene.raw().call("COMMAND", "INFO", "HPEXPIRE")).get(0);
        if (known == null) {
            // Fields have no deadlines in an older server.
            return;
        }
        RMapCacheNative<String, String> map = scene.a().getMapCacheNative(scene.name(), StringCodec.INSTANCE);
        Check.that(map.put("a", "1", Duration.ofSeconds(100)) == null, "it is new");
        Check.equal("1", map.put("a", "2", Duration.ofSeconds(200)));
        Check.that(map.fastPut("b", "3", Duration.ofSeconds(100)), "it is new");
        Check.that(map.putIfAbsent("a", "4", Duration.ofSeconds(1)) == null == false, "it is there");
        map.put("stays", "5");
        long left = map.remainTimeToLive("a");
        Check.that(left > 100_000 && left <= 200_000, "the second one counts: " + left);
        Check.equal(-1L, map.remainTimeToLive("stays"));
        Check.equal(-2L, map.remainTimeToLive("none"));
        Check.that(map.clearExpire("a"), "it had one");
        Check.equal(-1L, map.remainTimeToLive("a"));
        Check.that(map.expireEntry("a", Duration.ofMillis(1)), "it has one again");
        map.putAll(Map.of("c", "6", "d", "7"), Duration.ofMillis(1));
        scene.until("what is over is gone", () -> map.readAllMap().equals(Map.of("b", "3", "stays", "5")));
        Check.equal("3", scene.b().getMapCacheNative(scene.name(), StringCodec.INSTANCE).get("b"));
    }
}
