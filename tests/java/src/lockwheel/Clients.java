package lockwheel;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** How the scenarios' clients are set up. */
final class Clients {
    /** Redisson's own default, in milliseconds. */
    static final long DEFAULT_WATCHDOG = 30_000;

    /**
     * Connections that a pool has ready. A queued atomic batch of 3.24.3 has its commands reversed, but not its answers,
     * when none is: the commands wait as dependents of one future, which runs the last first. On redis-server 7.0.15 too.
     */
    static final int READY = 8;

    /**
     * Milliseconds for an answer, for a connection, for a subscription: a machine that stalls for some seconds is not
     * under test.
     */
    static final int LIMIT = 20_000;

    private Clients() {}

    /**
     * Connects to one server, or to what stands for the first one: it and its replicas, a cluster, or what sentinels or
     * the servers themselves name. With few threads and connections, because CI has few cores. The values are sent as
     * plain text, so that scenarios can read them over their own connection.
     */
    static RedissonClient connect(int port, String clientName, long watchdogTimeout, Options options) {
        return connect(port, clientName, watchdogTimeout, options, options.resp3());
    }

    /** The same, in a protocol that is told. */
    static RedissonClient connect(
            int port, String clientName, long watchdogTimeout, Options options, boolean resp3) {
        Config config = config(watchdogTimeout, resp3);
        if (options.failover()) {
            Shapes.bearsFailover(config);
        }
        boolean isFirst = port == options.ports().get(0);
        if (isFirst && !options.nodes().isEmpty()) {
            Shapes.useCluster(config, options.nodes(), clientName);
        } else if (isFirst && !options.sentinels().isEmpty()) {
            Shapes.useSentinels(config, options.sentinels(), clientName);
        } else if (isFirst && !options.replicated().isEmpty()) {
            Shapes.useReplicated(config, options, clientName);
        } else if (isFirst && !options.replicas().isEmpty()) {
            Shapes.useReplicas(config, port, options.replicas(), clientName);
        } else {
            useOne(config, port, clientName);
        }
        return Redisson.create(config);
    }

    /** Connects to one server. */
    static RedissonClient connect(int port, String clientName, long watchdogTimeout, boolean resp3) {
        Config config = config(watchdogTimeout, resp3);
        useOne(config, port, clientName);
        return Redisson.create(config);
    }

    private static Config config(long watchdogTimeout, boolean resp3) {
        Config config = new Config();
        if (resp3) {
            speakResp3(config);
        }
        config.setCodec(new StringCodec());
        config.setThreads(4);
        config.setNettyThreads(2);
        config.setLockWatchdogTimeout(watchdogTimeout);
        return config;
    }

    private static void useOne(Config config, int port, String clientName) {
        waitsForSubscriptions(config.useSingleServer()
                .setAddress(address(port))
                .setClientName(clientName)
                .setConnectionMinimumIdleSize(READY)
                .setConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(8)
                .setTimeout(LIMIT)
                .setConnectTimeout(LIMIT));
    }

    /** Sets {@link #LIMIT} for subscriptions, which is that for answers in versions that cannot tell them apart. */
    static void waitsForSubscriptions(Object servers) {
        try {
            servers.getClass().getMethod("setSubscriptionTimeout", int.class).invoke(servers, LIMIT);
        } catch (NoSuchMethodException before) {
            // The limit for answers holds.
        } catch (ReflectiveOperationException broken) {
            throw new IllegalStateException(broken);
        }
    }

    static String address(int port) {
        return "redis://127.0.0.1:" + port;
    }

    /** {@code config.setProtocol(Protocol.RESP3)}, which only versions since 3.25 have. */
    private static void speakResp3(Config config) {
        try {
            Class<?> protocol = Class.forName("org.redisson.config.Protocol");
            Object resp3 = protocol.getField("RESP3").get(null);
            Config.class.getMethod("setProtocol", protocol).invoke(config, resp3);
        } catch (ReflectiveOperationException absent) {
            throw new IllegalArgumentException("this version does not speak RESP3", absent);
        }
    }
}
