import io.lettuce.core.Range;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.params.ScanParams;

/**
 * Jedis and Lettuce: each connects with its defaults, sends the script, and uses its own interfaces.
 * {@code Clients (jedis | lettuce) PORT PROTOCOL SCRIPT}
 */
public final class Clients {
    private static final Pattern WORD = Pattern.compile("'([^']*)'|(\\S+)");

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[1]);
        List<String> lines = Files.readAllLines(Path.of(args[3]));
        switch (args[0]) {
            case "jedis" -> jedis(port, args[2], lines);
            case "lettuce" -> lettuce(port, args[2], lines);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    /** The words of a line; none if it is no command. */
    private static List<String> words(String line) {
        if (line.isEmpty() || line.startsWith("#")) {
            return List.of();
        }
        return WORD.matcher(line).results()
            .map(match -> match.group(1) == null ? match.group(2) : match.group(1).replace("\\n", "\n"))
            .toList();
    }

    /** A reply as text; what has no order gets one. */
    private static String show(Object value) {
        if (value instanceof byte[] bytes) {
            return '"' + new String(bytes, StandardCharsets.UTF_8) + '"';
        }
        if (value instanceof Map<?, ?> map) {
            TreeSet<String> pairs = new TreeSet<>();
            map.forEach((key, item) -> pairs.add(show(key) + ": " + show(item)));
            return pairs.toString();
        }
        if (value instanceof Collection<?> items) {
            List<String> shown = new ArrayList<>(items.stream().map(Clients::show).toList());
            if (!(items instanceof List)) {
                Collections.sort(shown);
            }
            return shown.toString();
        }
        if (value instanceof Map.Entry<?, ?> entry) {
            return show(entry.getKey()) + "=" + show(entry.getValue());
        }
        return value == null ? "null" : value.getClass().getSimpleName() + " " + value;
    }

    private static String attempt(Callable<?> ask) {
        try {
            return show(ask.call());
        } catch (Exception error) {
            return error.getClass().getSimpleName() + ": " + error.getMessage();
        }
    }

    private static void say(String what, Callable<?> ask) {
        System.out.println(what + " " + attempt(ask));
    }

    private static void jedis(int port, String protocol, List<String> lines) throws Exception {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder();
        switch (protocol) {
            case "2" -> config.protocol(RedisProtocol.RESP2);
            case "3" -> config.protocol(RedisProtocol.RESP3);
            default -> { }
        }
        HostAndPort server = new HostAndPort("127.0.0.1", port);
        try (Jedis client = new Jedis(server, config.build()); Jedis listener = new Jedis(server, config.build())) {
            for (int number = 1; number <= lines.size(); number++) {
                List<String> words = words(lines.get(number - 1));
                if (!words.isEmpty()) {
                    ProtocolCommand name = () -> words.get(0).getBytes(StandardCharsets.UTF_8);
                    String[] rest = words.subList(1, words.size()).toArray(String[]::new);
                    say("" + number, () -> client.sendCommand(name, rest));
                }
            }
            say("transaction", () -> {
                var transaction = client.multi();
                transaction.set("a", "1");
                transaction.incr("a");
                transaction.hset("h", "f", "v");
                transaction.hgetAll("h");
                transaction.zadd("z", 1.5, "m");
                return transaction.exec();
            });
            say("pipeline", () -> {
                var pipeline = client.pipelined();
                pipeline.get("a");
                pipeline.zrangeWithScores("z", 0, -1);
                return pipeline.syncAndReturnAll();
            });
            say("script", () -> client.eval("return {KEYS[1], ARGV[1]}", 1, "k", "a"));
            say("stream", () -> client.xadd("x", new StreamEntryID("1-1"), Map.of("f", "v")));
            say("range", () -> client.xrange("x", "-", "+"));
            say("geo", () -> client.geoadd("g", 13.361389, 38.115556, "P") + " " + client.geopos("g", "P"));
            List<String> messages = Collections.synchronizedList(new ArrayList<>());
            listener.subscribe(new JedisPubSub() {
                @Override
                public void onSubscribe(String channel, int count) {
                    messages.add("subscribed " + channel + " " + client.publish("channel", "text"));
                }

                @Override
                public void onMessage(String channel, String message) {
                    messages.add("message " + channel + " " + message);
                    unsubscribe();
                }
            }, "channel");
            System.out.println("messages " + messages);
            say("scan", () -> new TreeSet<>(client.scan("0", new ScanParams().count(1000)).getResult()));
            say("flush", client::flushAll);
        }
    }

    private static void lettuce(int port, String protocol, List<String> lines) throws Exception {
        RedisClient client = RedisClient.create(RedisURI.create("127.0.0.1", port));
        if (!protocol.equals("0")) {
            var version = protocol.equals("2") ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3;
            client.setOptions(io.lettuce.core.ClientOptions.builder().protocolVersion(version).build());
        }
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            var commands = connection.sync();
            boolean queued = false;
            for (int number = 1; number <= lines.size(); number++) {
                List<String> words = words(lines.get(number - 1));
                // Lettuce keeps transactions to its own interface.
                if (words.isEmpty() || queued || words.get(0).equals("MULTI")) {
                    queued = !words.isEmpty() && !words.get(0).equals("EXEC");
                    continue;
                }
                CommandArgs<String, String> rest = new CommandArgs<>(StringCodec.UTF8);
                words.subList(1, words.size()).forEach(rest::add);
                say("" + number, () -> commands.dispatch(keyword(words.get(0)), new NestedMultiOutput<>(StringCodec.UTF8), rest));
            }
            say("transaction", () -> {
                commands.multi();
                commands.set("a", "1");
                commands.incr("a");
                commands.hset("h", "f", "v");
                commands.hgetall("h");
                commands.zadd("z", 1.5, "m");
                return commands.exec().stream().toList();
            });
            say("range", () -> commands.zrangeWithScores("z", 0, -1));
            say("script", () -> commands.eval("return {KEYS[1], ARGV[1]}", ScriptOutputType.MULTI, new String[] {"k"}, "a"));
            say("stream", () -> commands.xadd("x", new io.lettuce.core.XAddArgs().id("1-1"), Map.of("f", "v")));
            say("read", () -> commands.xread(XReadArgs.StreamOffset.from("x", "0")));
            say("entries", () -> commands.xrange("x", Range.unbounded()));
            say("geo", () -> commands.geoadd("g", 13.361389, 38.115556, "P") + " " + commands.geopos("g", "P"));
            CountDownLatch arrived = new CountDownLatch(1);
            try (var listener = client.connectPubSub()) {
                listener.addListener(new RedisPubSubAdapter<>() {
                    @Override
                    public void message(String channel, String message) {
                        System.out.println("message " + channel + " " + message);
                        arrived.countDown();
                    }
                });
                listener.sync().subscribe("channel");
                commands.publish("channel", "text");
                arrived.await();
            }
            say("scan", () -> new TreeSet<>(commands.scan().getKeys()));
            say("flush", commands::flushall);
        } finally {
            client.shutdown();
        }
    }

    private static ProtocolKeyword keyword(String name) {
        return new ProtocolKeyword() {
            @Override
            public byte[] getBytes() {
                return name.getBytes(StandardCharsets.UTF_8);
            }

            @Override
            public String toString() {
                return name;
            }
        };
    }
}
