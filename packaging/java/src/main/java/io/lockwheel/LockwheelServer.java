package io.lockwheel;

import java.net.InetSocketAddress;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.redisson.config.Config;

/** A server of one's own: a process that this one starts, and that ends by {@link #stop} or with this process. */
public final class LockwheelServer extends ServerMethods implements AutoCloseable {
    /** How many connections are ready for waits when no new ones are let in. */
    private static final int PREPARED = 4;

    private final ServerOptions options;
    private final ServerProcess process;
    private final String host;
    private final InetSocketAddress address;
    /** Of the servers that may be asked, the first first. */
    private final List<InetSocketAddress> addresses;
    private final String password;
    /** What a test asks and what steers the server go by connections of their own: neither waits for the other. */
    private final Connection commands;
    private final Connection steering;
    /** Those on which nobody waits. */
    private final ConcurrentLinkedDeque<Connection> idle = new ConcurrentLinkedDeque<>();
    private final int tlsPort;

    private LockwheelServer(ServerOptions options) {
        this.options = options;
        password = options.parameter("requirepass");
        process = new ServerProcess(options);
        host = process.members().isEmpty() ? options.host() : process.members().get(0).host();
        address = new InetSocketAddress(host, process.port);
        addresses = process.members().isEmpty()
                ? List.of(address)
                : process.members().stream()
                        .filter(member -> !member.role().equals("sentinel"))
                        .map(LockwheelServer::address)
                        .toList();
        commands = new Connection(addresses, password, false, process::end);
        steering = new Connection(addresses, password, true, process::end);
        steer(new Steers());
        tlsPort = Tls.isWanted(options) ? Tls.port(steering) : 0;
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
        return new LockwheelServer(options);
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
        return host;
    }

    /** The port that {@link #url} names. */
    public int port() {
        return usesTls() ? tlsPort : address.getPort();
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

    /** As {@link #check(Level)}, with the level that it was started with. */
    public void check() {
        check(options.verify());
    }

    /** A {@link FindingsError} when there are findings of this level, or when there are none and the history is not whole. */
    public void check(Level level) {
        if (level != Level.OFF) {
            Verdict verdict = verify(it -> it.level(level));
            if (!Findings.isClean(verdict)) {
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
        return commands.send(args);
    }

    /**
     * Makes it as it was at its start: keys, scripts, faults, configuration, clock. Other connections are cut. A
     * topology is not reset: start another.
     */
    public void reset() {
        refuseTopology();
        commands.close();
        commands.setExempt(true);
        closeIdle();
        steering.send("CONTROL.RESET");
    }

    /** {@link #reset}, but the connections of its clients stay. */
    public void resetKeepingClients() {
        refuseTopology();
        commands.setExempt(true);
        steering.send("CONTROL.RESET", "KEEPCLIENTS");
    }

    /**
     * What it knows, also after its end: clock and seed, who waits, the faults that have acted, what it finds in the
     * history of locks, that history, the last commands, the last lines of its log.
     */
    public String report() {
        String title = "lockwheel on " + Host.withPort(host, address.getPort()) + ", seed " + options.effectiveSeed();
        // An interrupt would cut the connection; a test that was interrupted has the most need of a report.
        boolean interrupted = Thread.interrupted();
        Connection connection = taken();
        try {
            return Report.of(title, connection, process.log());
        } finally {
            idle.push(connection);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void refuseTopology() {
        if (!options.topology().isEmpty()) {
            throw new IllegalStateException("a topology is not reset: start another");
        }
    }

    private void closeIdle() {
        for (Connection each = idle.poll(); each != null; each = idle.poll()) {
            each.close();
        }
    }

    /** Whether it has not ended. */
    public boolean isRunning() {
        return process.isRunning();
    }

    /** Ends it and returns when it has ended. A second call does nothing. */
    public void stop() {
        commands.close();
        steering.close();
        closeIdle();
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

    /** Opens connections that stay: after a partition or a restart the server lets no new ones in. */
    private void prepare() {
        List<Connection> ready = new ArrayList<>(List.of(commands));
        while (ready.size() <= PREPARED) {
            ready.add(taken());
        }
        ready.forEach(Connection::prepare);
        ready.stream().skip(1).forEach(idle::push);
    }

    /** A connection to another server than this one, which may hang in a script, if another can kill it. */
    private Connection beside(int place) {
        List<InetSocketAddress> others = new ArrayList<>();
        List<InetSocketAddress> itself = new ArrayList<>();
        for (int other = 0; other < addresses.size(); other++) {
            (other == place ? itself : others).add(addresses.get(other));
        }
        others.addAll(itself);
        return new Connection(others, password, true, process::end);
    }

    static String hostAndPort(InetSocketAddress address) {
        return Host.withPort(address.getHostString(), address.getPort());
    }

    private static InetSocketAddress address(Member member) {
        return new InetSocketAddress(member.host(), member.port());
    }

    private Connection taken() {
        Connection connection = idle.poll();
        return connection == null ? new Connection(addresses, password, true, process::end) : connection;
    }

    /** Sends what the generated methods ask. */
    private final class Steers implements Steering {
        @Override
        public Object ask(Object... arguments) {
            return steering.send(Words.of(arguments));
        }

        @Override
        public Object askAvoiding(int server, Object... arguments) {
            try (Connection other = beside(server)) {
                Object reply = other.send(Words.of(arguments));
                commands.leave(server);
                return reply;
            }
        }

        @Override
        public Object own(Object... arguments) {
            return commands.send(Words.of(arguments));
        }

        /** Waits on a connection of its own, so that other threads go on meanwhile. */
        @Override
        public Object until(Object... arguments) {
            Object[] command = Words.of(arguments);
            Connection connection = taken();
            try {
                Object reply = connection.await(command);
                if (reply != null) {
                    return reply;
                }
            } finally {
                idle.push(connection);
            }
            String words = Stream.of(command).map(Object::toString).collect(Collectors.joining(" "));
            throw new AwaitException(words + ": not within the limit\n" + report());
        }

        @Override
        public void prepare() {
            LockwheelServer.this.prepare();
        }

        @Override
        public void setExempt(boolean isExempt) {
            commands.setExempt(isExempt);
        }
    }
}
