package lockwheel;

import java.util.List;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.MasterSlaveServersConfig;

/** How the scenarios' clients are set up. */
final class Clients {
    /** Redisson's own default, in milliseconds. */
    static final long DEFAULT_WATCHDOG = 30_000;

    private Clients() {}

    /**
     * Connects to one server, or to it and its replicas, with few threads and connections, because CI has few cores. The
     * values are sent as plain text, so that scenarios can read them over their own connection.
     */
    static RedissonClient connect(int port, String clientName, long watchdogTimeout, Options options) {
        boolean isFirst = port == options.ports().get(0);
        List<Integer> replicas = isFirst ? options.replicas() : List.of();
        return connect(port, replicas, clientName, watchdogTimeout, options.resp3());
    }

    /** The same, to one server. */
    static RedissonClient connect(int port, String clientName, long watchdogTimeout, boolean resp3) {
        return connect(port, List.of(), clientName, watchdogTimeout, resp3);
    }

    private static RedissonClient connect(
            int port, List<Integer> replicas, String clientName, long watchdogTimeout, boolean resp3) {
        Config config = new Config();
        if (resp3) {
            speakResp3(config);
        }
        config.setCodec(new StringCodec());
        config.setThreads(4);
        config.setNettyThreads(2);
        config.setLockWatchdogTimeout(watchdogTimeout);
        if (replicas.isEmpty()) {
            useOne(config, port, clientName);
        } else {
            useReplicas(config, port, replicas, clientName);
        }
        return Redisson.create(config);
    }

    private static void useOne(Config config, int port, String clientName) {
        config.useSingleServer()
                .setAddress(address(port))
                .setClientName(clientName)
                .setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(8)
                // A machine that stalls for some seconds is not what is tested.
                .setTimeout(20_000)
                .setConnectTimeout(20_000);
    }

    /** Reads and subscriptions go to the replicas, as Redisson has it by default. */
    private static void useReplicas(Config config, int port, List<Integer> replicas, String clientName) {
        MasterSlaveServersConfig servers = config.useMasterSlaveServers()
                .setMasterAddress(address(port))
                .setClientName(clientName)
                .setMasterConnectionMinimumIdleSize(1)
                .setMasterConnectionPoolSize(16)
                .setSlaveConnectionMinimumIdleSize(1)
                .setSlaveConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(8)
                .setTimeout(20_000)
                .setConnectTimeout(20_000);
        replicas.forEach(replica -> servers.addSlaveAddress(address(replica)));
    }

    private static String address(int port) {
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
