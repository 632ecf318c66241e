package lockwheel;

import java.util.ArrayList;
import java.util.List;
import org.redisson.api.RedissonClient;

/**
 * The shared state of all scenarios of a JVM: two clients for each server, as two services would have, and a third one
 * for the first server that renews its leases quickly. They connect on first use. A scenario must not disturb another
 * one, so every key that it uses begins with its own name.
 */
final class World implements AutoCloseable {
    /** The lease, renewed at every third: short enough to watch, long enough for a JVM that stalls for seconds. */
    static final long SHORT_WATCHDOG = 6_000;

    private final Options options;
    private final List<RedissonClient> first = new ArrayList<>();
    private final List<RedissonClient> second = new ArrayList<>();
    private RedissonClient watched;
    private Failover failover;

    World(Options options) {
        this.options = options;
        for (int ignored : options.ports()) {
            first.add(null);
            second.add(null);
        }
    }

    /** Sets the failover for which all scenarios wait, or null. */
    void expects(Failover expected) {
        failover = expected;
    }

    Failover failover() {
        return failover;
    }

    Options options() {
        return options;
    }

    /** Client {@code a} or {@code b} of the server with this index. */
    synchronized RedissonClient client(String which, int server) {
        List<RedissonClient> clients = which.equals("a") ? first : second;
        if (clients.get(server) == null) {
            int port = options.ports().get(server);
            clients.set(server, Clients.connect(port, "client-" + which, Clients.DEFAULT_WATCHDOG, options));
        }
        return clients.get(server);
    }

    /** The lease of the client with the short watchdog. In a failover, it must outlive a failed renewal. */
    long watchdog() {
        return options.failover() ? 3 * SHORT_WATCHDOG : SHORT_WATCHDOG;
    }

    /** The client with the short watchdog. */
    synchronized RedissonClient watched() {
        if (watched == null) {
            watched = Clients.connect(options.ports().get(0), "client-w", watchdog(), options);
        }
        return watched;
    }

    @Override
    public synchronized void close() {
        List<RedissonClient> all = new ArrayList<>(first);
        all.addAll(second);
        all.add(watched);
        for (RedissonClient client : all) {
            if (client != null) {
                client.shutdown();
            }
        }
    }
}
