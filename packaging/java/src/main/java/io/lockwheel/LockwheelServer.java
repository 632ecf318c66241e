package io.lockwheel;

import java.security.KeyStore;
import java.util.List;
import org.redisson.config.Config;

/** A server of one's own: a process that this one starts, and that ends by {@link #stop} or with this process. */
public final class LockwheelServer extends ServerMethods implements AutoCloseable {
    private final ServerOptions options;
    private final ServerProcess process;
    private final String password;
    private final int tlsPort;

    private LockwheelServer(ServerOptions options, ServerProcess process) {
        super(new Connections(options, process));
        this.options = options;
        this.process = process;
        password = options.parameter("requirepass");
        tlsPort = Tls.isWanted(options) ? Tls.port(connections()) : 0;
    }

    /** Starts a server in real time, and returns when it accepts connections. */
    public static LockwheelServer start() {
        return start(new ServerOptions());
    }

    /**
     * Starts a server on a free port of 127.0.0.1 and returns when it accepts connections; a {@link StartException}
     * with what the program said when it does not start.
     */
    public static LockwheelServer start(ServerOptions options) {
        return new LockwheelServer(options, new ServerProcess(options));
    }

    /**
     * For any client: {@code redis://127.0.0.1:port}, with the password of {@code --requirepass}; {@code rediss://}
     * with the port for TLS where {@code args} have {@code --tls-port}, which is a free one if it is 0.
     */
    public String url() {
        return (usesTls() ? "rediss://" : "redis://") + Member.login(password) + Host.withPort(host(), port());
    }

    /** {@code 127.0.0.1}, or the address of {@code --bind} where that does not name it. */
    public String host() {
        return process.host;
    }

    /** The port that {@link #url} names. */
    public int port() {
        return usesTls() ? tlsPort : process.port;
    }

    /** The password of {@code --requirepass}; null where there is none. */
    public String password() {
        return password;
    }

    /** Whether {@link #url} is one for TLS. */
    public boolean usesTls() {
        return tlsPort != 0;
    }

    /** With TLS, what a client trusts: {@code --tls-ca-cert-file}, or else the server's own certificate. */
    public KeyStore trustStore() {
        return Tls.trustStore(options);
    }

    /**
     * A configuration for Redisson, which the project has to have. With TLS it has the {@link #trustStore}; for that it
     * needs Redisson 4. For a topology it is one of its shape.
     */
    public Config redissonConfig() {
        Config config = new Config();
        if (options.topology().isEmpty()) {
            config.useSingleServer().setAddress(url());
        } else {
            useTopology(config);
        }
        if (usesTls()) {
            config.setSslTrustManagerFactory(Tls.trustManagers(trustStore()));
        }
        return config;
    }

    /**
     * The servers of a topology: masters, then replicas, then sentinels; all else asks the first that lives. Without a
     * topology there are none.
     */
    public List<Member> servers() {
        return process.members();
    }

    /** Before Redisson 4 a password was said with the servers alone. */
    @SuppressWarnings("deprecation")
    private void useTopology(Config config) {
        switch (options.topology().split("\\s+")[0]) {
            case "cluster" -> config.useClusterServers().addNodeAddress(addresses("master")).setPassword(password);
            case "sentinel" -> config.useSentinelServers()
                    .setMasterName("mymaster")
                    .addSentinelAddress(addresses("sentinel"))
                    .setPassword(password)
                    .setSentinelPassword(password);
            default -> config.useMasterSlaveServers()
                    .setMasterAddress(addresses("master")[0])
                    .addSlaveAddress(addresses("replica"))
                    .setPassword(password);
        }
    }

    private String[] addresses(String role) {
        return servers().stream()
                .filter(member -> member.role().equals(role))
                .map(member -> "redis://" + Host.withPort(member.host(), member.port()))
                .toArray(String[]::new);
    }

    /** As {@link #check(Level)}, with the level that the server was started with. */
    public void check() {
        check(options.verify());
    }

    /**
     * Throws a {@link FindingsError} if there are findings of this level or a worse one, or if there are none and the
     * history is not whole.
     */
    public void check(Level level) {
        if (level != Level.OFF) {
            Verdict verdict = verify(it -> it.level(level));
            if (!verdict.findings().isEmpty() || verdict.verdict().equals("inconclusive")) {
                throw new FindingsError(verdict, report());
            }
        }
    }

    /**
     * Sends any command on the server's own connection; a {@link ReplyException} when the server refuses it.
     * Arguments are strings, numbers, booleans or {@code byte[]}. A reply is a String ({@code byte[]} where it is no
     * UTF-8), Long, List or null; a ReplyException within a list; after {@code HELLO 3} also Double, Boolean,
     * BigInteger, Map or Set.
     *
     * @throws IllegalArgumentException without arguments, and for CLIENT REPLY OFF and SKIP, which have no reply
     */
    public Object command(Object... args) {
        Resp.refuseUnanswered(args);
        return connections().own(args);
    }

    /**
     * Makes it as it was at its start: keys, scripts, faults, configuration, clock. Other connections are cut. A
     * topology is not reset: start another.
     */
    public void reset() {
        refuseTopology();
        connections().closeOwn();
        connections().setExempt(true);
        ask("CONTROL.RESET");
    }

    /** {@link #reset}, but the connections of its clients stay. */
    public void resetKeepingClients() {
        refuseTopology();
        connections().setExempt(true);
        ask("CONTROL.RESET", "KEEPCLIENTS");
    }

    /**
     * What it knows, also after its end: clock and seed, who waits, the faults that have acted, what it finds in the
     * history of locks, that history, the last commands, the last lines of its log.
     */
    public String report() {
        return connections().report();
    }

    private void refuseTopology() {
        if (!options.topology().isEmpty()) {
            throw new IllegalStateException("a topology is not reset: start another");
        }
    }

    /** Whether it has not ended. */
    public boolean isRunning() {
        return process.isRunning();
    }

    /** Ends it and returns when it has ended. A second call does nothing. */
    public void stop() {
        connections().close();
        process.stop();
    }

    /** {@link #check} and {@link #stop}. */
    @Override
    public void close() {
        try {
            if (isRunning()) {
                check();
            }
        } finally {
            stop();
        }
    }
}
