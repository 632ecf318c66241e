package lockwheel;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RedissonClient;

/** One scenario's view of the {@link World}, and the resources that it has opened; closing ends all of them. */
final class Scene implements AutoCloseable {
    /** A lease or a time limit, in milliseconds, that no scenario ever reaches. */
    static final long NEVER = TimeUnit.MINUTES.toMillis(10);

    /** Client and server count whole milliseconds, each from its own start: a wait may be too short by this much. */
    static final long ROUNDING = 5;

    private static final long POLL_MILLIS = 2;

    private final World world;
    private final String name;
    private final List<Raw> connections = new ArrayList<>();
    private final List<Task<?>> tasks = new ArrayList<>();

    Scene(World world, String name) {
        this.world = world;
        this.name = name;
    }

    /** The scenario's name, and the name of its main key. */
    String name() {
        return name;
    }

    /** The name of another key of the scenario; in a cluster it has the same slot. */
    String name(String suffix) {
        return (inCluster() ? "{" + name + "}" : name) + "." + suffix;
    }

    /** Whether a cluster stands for the first server. */
    boolean inCluster() {
        return !options().nodes().isEmpty();
    }

    Options options() {
        return world.options();
    }

    long patience() {
        return world.options().patience();
    }

    /** The first service's client. */
    RedissonClient a() {
        return a(0);
    }

    /** The second service's client. */
    RedissonClient b() {
        return b(0);
    }

    RedissonClient a(int server) {
        return world.client("a", server);
    }

    RedissonClient b(int server) {
        return world.client("b", server);
    }

    /** The client with the short watchdog. */
    RedissonClient watched() {
        return world.watched();
    }

    /** Waits until the other scenarios have arrived here too, and a replica has taken over. */
    void failsOver() {
        world.failover().await();
    }

    /** The lease of the short watchdog. */
    long watchdog() {
        return world.watchdog();
    }

    /** A plain connection to the first server, or to the node of the cluster that has the scenario's keys. */
    Raw raw() throws IOException {
        return raw(0);
    }

    Raw raw(int server) throws IOException {
        return server == 0 && inCluster() ? rawInCluster(name) : rawAt(options().ports().get(server));
    }

    /** A plain connection to the node that has this key. */
    Raw rawOf(String key) throws IOException {
        return inCluster() ? rawInCluster(key) : raw();
    }

    private Raw rawInCluster(String key) throws IOException {
        int port = nodeOf(key);
        List<Raw> others = new ArrayList<>();
        for (int node : options().nodes()) {
            if (node != port) {
                others.add(rawAt(node));
            }
        }
        Raw raw = rawAt(port);
        raw.isBeside(others);
        return raw;
    }

    /** The port of the master that has a key. */
    private int nodeOf(String key) throws IOException {
        try (Raw any = new Raw(options().nodes().get(0), (int) patience())) {
            long slot = any.number("CLUSTER", "KEYSLOT", key);
            for (Object range : (List<?>) any.call("CLUSTER", "SLOTS")) {
                List<?> parts = (List<?>) range;
                if ((Long) parts.get(0) <= slot && slot <= (Long) parts.get(1)) {
                    return ((Long) ((List<?>) parts.get(2)).get(1)).intValue();
                }
            }
        }
        throw new AssertionError("no node has the slot of " + key);
    }

    /** The servers' data and subscribers of the scenario, for the text of a failure. */
    String evidence() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int port : serversByNow()) {
            text.append("\n").append(evidence(port));
        }
        return text.append("\n").toString();
    }

    private String evidence(int port) {
        try (Raw raw = new Raw(port, (int) patience())) {
            List<String> facts = new ArrayList<>(List.of(port + " " + raw.call("ROLE")));
            for (String key : raw.texts("KEYS", "*" + name + "*")) {
                String type = raw.text("TYPE", key);
                facts.add(key + " is " + (type.equals("string") ? raw.text("GET", key) : type));
            }
            for (String channel : raw.texts("PUBSUB", "CHANNELS", "*" + name + "*")) {
                facts.add(raw.subscribers(channel) + " listen to " + channel);
            }
            long patterns = raw.number("PUBSUB", "NUMPAT");
            if (patterns > 0) {
                facts.add(patterns + " listen to patterns");
            }
            return String.join("; ", facts);
        } catch (IOException gone) {
            // A server that was killed.
            return port + " does not answer";
        }
    }

    /** The ports of the cluster's servers, or of the master and the replicas that are given or named by a sentinel. */
    private List<Integer> serversByNow() throws IOException {
        if (!options().replicated().isEmpty()) {
            return options().replicated();
        }
        if (inCluster() || options().sentinels().isEmpty()) {
            return inCluster() ? options().nodes() : options().ports();
        }
        try (Raw sentinel = new Raw(options().sentinels().get(0), (int) patience())) {
            List<Integer> ports = new ArrayList<>();
            ports.add(Integer.parseInt(
                    sentinel.texts("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Shapes.MASTER_NAME).get(1)));
            for (Object replica : (List<?>) sentinel.call("SENTINEL", "REPLICAS", Shapes.MASTER_NAME)) {
                List<?> fields = (List<?>) replica;
                ports.add(Integer.parseInt((String) fields.get(fields.indexOf("port") + 1)));
            }
            return ports;
        }
    }

    /** A separate connection to each replica of the first server. */
    List<Raw> rawReplicas() throws IOException {
        List<Raw> replicas = new ArrayList<>();
        for (int port : options().replicas()) {
            replicas.add(rawAt(port));
        }
        return replicas;
    }

    private Raw rawAt(int port) throws IOException {
        Raw raw = new Raw(port, (int) patience());
        connections.add(raw);
        return raw;
    }

    /** Starts work in its own thread. */
    <T> Task<T> start(Callable<T> work) {
        Task<T> task = new Task<>(this, name + "-" + (tasks.size() + 1), work);
        tasks.add(task);
        return task;
    }

    /** The tasks started so far. */
    List<Task<?>> tasks() {
        return tasks;
    }

    /** Polls until the condition holds. Fails if that takes longer than the patience. */
    void until(String what, Callable<Boolean> question) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patience());
        while (!question.call()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("waited " + patience() + " ms in vain until " + what);
            }
            Thread.sleep(POLL_MILLIS);
        }
    }

    /** Waits until a client is subscribed to a channel. */
    void untilSubscribed(String channel) throws Exception {
        Raw raw = raw();
        until("somebody is subscribed to " + channel, () -> raw.subscribers(channel) > 0);
    }

    @Override
    public void close() throws IOException {
        for (Task<?> task : tasks) {
            task.interrupt();
        }
        for (Raw raw : connections) {
            raw.close();
        }
    }
}
