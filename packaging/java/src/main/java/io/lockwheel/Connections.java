package io.lockwheel;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The connections to a server. Each kind of request has its own, so that no request waits for another kind. */
final class Connections {
    /** How many connections are ready for waits when no new ones are let in. */
    private static final int PREPARED = 4;

    private final ServerProcess process;
    private final String title;
    private final String password;
    /** The servers that may be asked, in this order. */
    private final List<InetSocketAddress> addresses;
    /** The connection of the test's own commands. */
    private final Connection commands;
    /** The connection of the commands that steer the server. */
    private final Connection steering;
    /** The connections on which nobody waits. */
    private final ConcurrentLinkedDeque<Connection> idle = new ConcurrentLinkedDeque<>();

    Connections(ServerOptions options, ServerProcess process) {
        this.process = process;
        password = options.parameter("requirepass");
        addresses = process.members().isEmpty()
                ? List.of(new InetSocketAddress(process.host, process.port))
                : process.members().stream()
                        .filter(member -> !member.role().equals("sentinel"))
                        .map(member -> new InetSocketAddress(member.host(), member.port()))
                        .toList();
        title = "lockwheel on " + Host.withPort(process.host, process.port) + ", seed " + options.effectiveSeed();
        commands = new Connection(addresses, password, false, process::end);
        steering = steering(addresses);
    }

    private Connection steering(List<InetSocketAddress> servers) {
        return new Connection(servers, password, true, process::end);
    }

    /** Sends a command of the test's own, which faults may meet. */
    Object own(Object... words) {
        return commands.send(words);
    }

    /** Sends a command that steers the server. */
    Object steer(Object... words) {
        return steering.send(words);
    }

    /** Sends a command to another server than this one, which may hang in a script. A single server gets it itself. */
    void steerBeside(long place, Object... words) {
        List<InetSocketAddress> servers = new ArrayList<>(addresses);
        if (place >= 0 && place < servers.size()) {
            servers.add(servers.remove((int) place));
        }
        try (Connection other = steering(servers)) {
            other.send(words);
        }
        commands.leave((int) place);
    }

    /**
     * Sends a command that waits, on a connection of its own, so that other threads go on meanwhile. Throws an
     * {@link AwaitException} with the report if the limit passes.
     */
    long await(Object... words) {
        if (onIdle(connection -> connection.await(words)) instanceof Long reply) {
            return reply;
        }
        String shown = Stream.of(words).map(Object::toString).collect(Collectors.joining(" "));
        throw new AwaitException(shown + ": not within the limit\n" + report());
    }

    /** Returns the report of the server, also after its end. */
    String report() {
        // An interrupt would cut the connection. A test that was interrupted has the most need of a report.
        boolean interrupted = Thread.interrupted();
        try {
            return onIdle(connection -> Report.of(title, connection, process.log()));
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private <T> T onIdle(Function<Connection, T> use) {
        Connection connection = taken();
        try {
            return use.apply(connection);
        } finally {
            idle.push(connection);
        }
    }

    private Connection taken() {
        Connection connection = idle.poll();
        return connection == null ? steering(addresses) : connection;
    }

    /** Opens connections that stay. After a partition or a restart, the server lets no new ones in. */
    void prepare() {
        List<Connection> ready = new ArrayList<>(List.of(commands));
        while (ready.size() <= PREPARED) {
            ready.add(taken());
        }
        ready.forEach(Connection::prepare);
        ready.stream().skip(1).forEach(idle::push);
    }

    /** Sets whether rules for faults ignore the test's own commands. */
    void setExempt(boolean isExempt) {
        commands.setExempt(isExempt);
    }

    /** Closes all connections but the one that steers. */
    void closeOwn() {
        commands.close();
        for (Connection each = idle.poll(); each != null; each = idle.poll()) {
            each.close();
        }
    }

    /** Closes all connections. */
    void close() {
        steering.close();
        closeOwn();
    }
}
