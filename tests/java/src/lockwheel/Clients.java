package lockwheel;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** The configuration of the scenarios' clients. */
final class Clients {
    /** Redisson's own default, in milliseconds. */
    static final long DEFAULT_WATCHDOG = 30_000;

    /**
     * Connections that a pool keeps ready. If none is ready, 3.24.3 reverses the commands of a queued atomic batch, but
     * not its answers: the commands wait as dependents of one future, which runs the last first. This also happens on
     * redis-server 7.0.15.
     */
    static final int READY = 8;

    /**
     * Milliseconds for an answer, for a connection, for a subscription: a machine that stalls for some seconds is not
     * under test.
     */
    static final int LIMIT = 20_000;

    private Clients() {}

    /**
     * Connects to one server, or to the servers in place of the first one: it and its replicas, a cluster, or servers
     * that sentinels or they themselves name. There are few threads and connections, because CI has few cores. Values
     * are sent as plain text, so that scenarios can read them over their own connection.
     */
    static RedissonClient connect(int port, String clientName, long watchdogTimeout, Options options) {
        return connect(port, clientName, watchdogTimeout, options, options.resp3());
    }

    /** Connects with the given protocol. */
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

    /** Sets {@link #LIMIT} for subscriptions. Versions that do not distinguish it use the limit for answers. */
    static void waitsForSubscriptions(Object servers) {
        try {
            servers.getClass().getMethod("setSubscriptionTimeout", int.class).invoke(servers, LIMIT);
        } catch (NoSuchMethodException before) {
            // The limit for answers applies.
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
