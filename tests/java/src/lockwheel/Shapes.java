package lockwheel;

import java.util.List;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.SubscriptionMode;

/** Redisson's ways of reaching several servers as if they were one. */
final class Shapes {
    /** The name by which sentinels know the master. */
    static final String MASTER_NAME = "m";

    /** The interval at which a client checks whether the servers have changed their roles, in milliseconds. */
    private static final int SCAN_MILLIS = 500;

    private Shapes() {}

    /** Reads go to the replicas, as Redisson's default has it: this is used only without lag. */
    static void useReplicas(Config config, int port, List<Integer> replicas, String clientName) {
        var servers = config.useMasterSlaveServers().setMasterAddress(Clients.address(port));
        replicas.forEach(replica -> servers.addSlaveAddress(Clients.address(replica)));
        few(servers, clientName);
    }

    /** Reads go to the masters: a replica of another process lags. */
    static void useCluster(Config config, List<Integer> nodes, String clientName) {
        var servers = config.useClusterServers().setScanInterval(SCAN_MILLIS);
        nodes.forEach(node -> servers.addNodeAddress(Clients.address(node)));
        few(servers, clientName).setReadMode(ReadMode.MASTER);
    }

    /** Configures the master that sentinels name. */
    static void useSentinels(Config config, List<Integer> sentinels, String clientName) {
        var servers = config.useSentinelServers().setMasterName(MASTER_NAME).setScanInterval(SCAN_MILLIS);
        sentinels.forEach(sentinel -> servers.addSentinelAddress(Clients.address(sentinel)));
        few(servers, clientName).setReadMode(ReadMode.MASTER);
    }

    /** Configures servers that are asked which of them is the master. */
    static void useReplicated(Config config, Options options, String clientName) {
        var servers = config.useReplicatedServers().setScanInterval(SCAN_MILLIS);
        options.replicated().forEach(node -> servers.addNodeAddress(Clients.address(node)));
        few(servers, clientName).setReadMode(ReadMode.MASTER);
        if (options.listensToReplicas()) {
            servers.setSubscriptionMode(SubscriptionMode.SLAVE);
        }
    }

    /**
     * While the servers change their roles, a master has no replica that follows. Since 3.16, a lock that no replica
     * has is an exception by default, and a watchdog that has met one no longer renews.
     */
    static void bearsFailover(Config config) {
        try {
            Config.class.getMethod("setCheckLockSyncedSlaves", boolean.class).invoke(config, false);
        } catch (NoSuchMethodException before) {
            // This version does not check.
        } catch (ReflectiveOperationException broken) {
            throw new IllegalStateException(broken);
        }
    }

    private static <T extends BaseMasterSlaveServersConfig<T>> T few(T servers, String clientName) {
        Clients.waitsForSubscriptions(servers);
        return servers.setClientName(clientName)
                .setMasterConnectionMinimumIdleSize(Clients.READY)
                .setMasterConnectionPoolSize(16)
                .setSlaveConnectionMinimumIdleSize(1)
                .setSlaveConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(8)
                .setTimeout(Clients.LIMIT)
                .setConnectTimeout(Clients.LIMIT);
    }
}
