package lockwheel;

import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.redisson.api.RBucket;
import org.redisson.api.RClientSideCaching;
import org.redisson.api.RMap;
import org.redisson.api.RedissonClient;
import org.redisson.api.options.ClientSideCachingOptions;
import org.redisson.client.codec.StringCodec;

/** Objects whose values a client keeps until the server reports a change: CLIENT TRACKING. */
public final class ClientSideCachingGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("client-side-caching.all", ClientSideCachingGroup::all));
    }

    private static void all(Scene scene) throws Throwable {
        // Redisson tracks keys in RESP3 only.
        int port = scene.options().ports().get(0);
        Options options = scene.options();
        // With replicas, the client is connected to the master alone.
        RedissonClient client = options.replicas().isEmpty()
                ? Clients.connect(port, "client-c", Clients.DEFAULT_WATCHDOG, options, true)
                : Clients.connect(port, "client-c", Clients.DEFAULT_WATCHDOG, true);
        try {
            RClientSideCaching caching = client.getClientSideCaching(ClientSideCachingOptions.defaults());
            bucket(scene, caching.getBucket(scene.name(), StringCodec.INSTANCE));
            map(scene, caching.getMap(scene.name("map"), StringCodec.INSTANCE));
            caching.destroy();
        } finally {
            client.shutdown();
        }
    }

    private static void bucket(Scene scene, RBucket<String> bucket) throws Throwable {
        Raw raw = scene.raw();
        raw.call("SET", scene.name(), "one");
        Check.equal("one", bucket.get());
        long calls = calls(raw, "get");
        for (int i = 0; i < 100; i++) {
            Check.equal("one", bucket.get());
        }
        // Other requests are sent, too, but not a hundred.
        Check.that(calls(raw, "get") - calls < 100, "what is kept is not asked for");
        raw.call("SET", scene.name(), "two");
        until(scene, "it is told of the change", () -> "two".equals(bucket.get()));
        raw.call("DEL", scene.name());
        scene.until("it is told that it is gone", () -> bucket.get() == null);
    }

    private static void map(Scene scene, RMap<String, String> map) throws Throwable {
        map.put("a", "1");
        until(scene, "it is there", () -> "1".equals(map.get("a")));
        scene.b().getMap(scene.name("map"), StringCodec.INSTANCE).put("a", "2");
        until(scene, "it is told of another client's change", () -> "2".equals(map.get("a")));
        scene.b().getScript(StringCodec.INSTANCE)
                .eval(
                        org.redisson.api.RScript.Mode.READ_WRITE,
                        "return redis.call('hset', KEYS[1], 'b', '3')",
                        org.redisson.api.RScript.ReturnType.LONG,
                        List.of(scene.name("map")));
        scene.until("it is told of a script's change", () -> map.readAllMap().equals(Map.of("a", "2", "b", "3")));
    }

    /**
     * Waits, and reads some more: Redisson caches a value a moment after it has returned it, and misses notifications
     * meanwhile.
     */
    private static void until(Scene scene, String what, Callable<Boolean> question) throws Exception {
        scene.until(what, question);
        for (int i = 0; i < 100; i++) {
            question.call();
        }
    }

    /** The number of calls of a command. */
    private static long calls(Raw raw, String command) throws Exception {
        for (String line : raw.text("INFO", "commandstats").split("\r\n")) {
            if (line.startsWith("cmdstat_" + command + ":calls=")) {
                return Long.parseLong(line.substring(line.indexOf('=') + 1, line.indexOf(',')));
            }
        }
        return 0;
    }
}
