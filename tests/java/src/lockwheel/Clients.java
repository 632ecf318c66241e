package lockwheel;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** How the scenarios' clients are set up. */
final class Clients {
    /** Redisson's own default, in milliseconds. */
    static final long DEFAULT_WATCHDOG = 30_000;

    private Clients() {}

    /**
     * Connects to one server with few threads and connections, because CI has few cores. The values are sent as plain
     * text, so that scenarios can read them over their own connection.
     */
    static RedissonClient connect(int port, String clientName, long watchdogTimeout) {
        Config config = new Config();
        config.setCodec(new StringCodec());
        config.setThreads(4);
        config.setNettyThreads(2);
        config.setLockWatchdogTimeout(watchdogTimeout);
        config.useSingleServer()
                .setAddress("redis://127.0.0.1:" + port)
                .setClientName(clientName)
                .setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(16)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(8)
                // A machine that stalls for some seconds is not what is tested.
                .setTimeout(20_000)
                .setConnectTimeout(20_000);
        return Redisson.create(config);
    }
}
