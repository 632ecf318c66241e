package io.lockwheel;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * Injects faults: rules for single requests, and faults of clients or of the whole server. The package's own
 * connections are exempt unless {@link #exempt} says otherwise. A reset of the server ends every fault.
 */
public final class Faults {
    private final Connection connection;
    /** The connection of {@link LockwheelServer#command}. */
    private final Connection commands;
    /** Opens the package's connections while the server still lets them in. */
    private final Runnable prepare;
    /** Connects to a server other than the one at this place. */
    private final IntFunction<Connection> beside;

    Faults(Connection connection, Connection commands, Runnable prepare, IntFunction<Connection> beside) {
        this.connection = connection;
        this.commands = commands;
        this.prepare = prepare;
        this.beside = beside;
    }

    /** Adds a rule: the action acts on matching requests. If several rules match, the oldest acts. */
    public void add(String name, Match match, Action action) {
        connection.send(Words.of(List.of("FAULT.ADD", name), match.words(), List.of("DO"), action.words()));
    }

    /** Releases the requests and replies that a rule holds, oldest first. Returns their number. */
    public long go(String name) {
        return (Long) connection.send("FAULT.GO", name);
    }

    /** Releases at most {@code count} requests and replies that a rule holds, oldest first. Returns their number. */
    public long go(String name, int count) {
        return (Long) connection.send("FAULT.GO", name, "COUNT", count);
    }

    /** Returns the rules, oldest first. */
    public List<Rule> list() {
        return rules(connection);
    }

    static List<Rule> rules(Connection connection) {
        List<?> rules = (List<?>) connection.send("FAULT.LIST");
        return rules.stream().map(Resp::fields).map(Faults::rule).toList();
    }

    private static Rule rule(Map<String, Object> told) {
        return new Rule(
                (String) told.get("name"),
                (String) told.get("rule"),
                (Long) told.get("matched"),
                (Long) told.get("skipped"),
                (Long) told.get("hits"),
                (Long) told.get("left"),
                (Long) told.get("held"));
    }

    /** Removes a rule and releases what it holds. Returns whether the rule existed. */
    public boolean remove(String name) {
        return connection.send("FAULT.DEL", name).equals(1L);
    }

    /** Removes all rules and releases what they hold. Returns the number of rules. */
    public long clear() {
        return (Long) connection.send("FAULT.CLEAR");
    }

    /** Sets the seed of the draws for {@link Match#prob}. */
    public void seed(long seed) {
        connection.send("FAULT.SEED", seed);
    }

    /** Sets whether rules ignore the requests of {@link LockwheelServer#command}. By default they do. */
    public void exempt(boolean isExempt) {
        commands.setExempt(isExempt);
    }

    /**
     * Freezes clients until {@link #thawClient}: the server reads nothing from them and writes nothing to them. Returns
     * the number of clients.
     */
    public long freezeClient(Clients clients) {
        return freeze(clients, "FOREVER");
    }

    /** Freezes clients for this time on the monotonic clock. Returns the number of clients. */
    public long freezeClient(Clients clients, Duration duration) {
        return freeze(clients, Milliseconds.of(duration));
    }

    private long freeze(Clients clients, Object lasts) {
        return (Long) connection.send(Words.of(List.of("FAULT.FREEZECLIENT"), clients.words(), List.of(lasts)));
    }

    /** Thaws frozen clients. Returns their number. */
    public long thawClient(Clients clients) {
        return (Long) connection.send(Words.of(List.of("FAULT.THAWCLIENT"), clients.words()));
    }

    /** Cuts clients off, including their new connections. Returns the present number of clients. */
    public long partition(Clients clients, Direction direction) {
        prepare.run();
        return (Long) connection.send(Words.of(List.of("FAULT.PARTITION"), clients.words(), List.of(direction.name())));
    }

    /** Ends all partitions. Returns their number. */
    public long heal() {
        return (Long) connection.send("FAULT.HEAL");
    }

    /** Stops the replication of all later writes. */
    public void lag() {
        connection.send("FAULT.LAG");
    }

    /** Stops the replication of later writes to keys that match the pattern. */
    public void lag(String pattern) {
        connection.send("FAULT.LAG", "KEY", pattern);
    }

    /**
     * Simulates a failover: restores the keys as at {@link #lag()}, forgets the scripts, and cuts all other
     * connections.
     */
    public void failover() {
        connection.send("FAULT.FAILOVER");
    }

    /** Simulates a failover as {@link #failover()} does; grant numbers start anew. */
    public void failoverWithTokens() {
        connection.send("FAULT.FAILOVER", "TOKENS");
    }

    /**
     * Simulates a restart without persistence: drops keys, scripts and connections, and refuses connections for this
     * time.
     */
    public void restart(Duration down) {
        prepare.run();
        connection.send("FAULT.RESTART", "DOWN", Milliseconds.of(down));
    }

    /** Cuts all connections and refuses new ones for this time. Keys, scripts and functions stay. */
    public void restartKeepingData(Duration down) {
        prepare.run();
        connection.send("FAULT.RESTART", "DOWN", Milliseconds.of(down), "KEEP");
    }

    /** Simulates a restart as {@link #restart} does; grant numbers start anew. */
    public void restartWithTokens(Duration down) {
        prepare.run();
        connection.send("FAULT.RESTART", "DOWN", Milliseconds.of(down), "TOKENS");
    }

    /**
     * Kills a server of a topology, which is numbered from 0: cuts its clients and links, drops its data, and refuses
     * connections until {@link #up}.
     */
    public void down(int server) {
        kill(server, "FAULT.DOWN", server);
    }

    /** Kills a server for this time, or until {@link #up}. */
    public void down(int server, Duration backAfter) {
        kill(server, "FAULT.DOWN", server, Milliseconds.of(backAfter));
    }

    /** Kills a server as {@link #down(int)} does; the server comes back with its data. */
    public void downKeepingData(int server) {
        kill(server, "FAULT.DOWN", server, "KEEP");
    }

    /** Kills a server as {@link #down(int, Duration)} does; the server comes back with its data. */
    public void downKeepingData(int server, Duration backAfter) {
        kill(server, "FAULT.DOWN", server, Milliseconds.of(backAfter), "KEEP");
    }

    /** Sends the command to another server, if there is one, since the server itself may hang in a script. */
    private void kill(int server, Object... command) {
        try (Connection other = beside.apply(server)) {
            other.send(command);
        }
        commands.leave(server);
    }

    /** Brings a killed server back. Returns whether the server was down. */
    public boolean up(int server) {
        return connection.send("FAULT.UP", server).equals(1L);
    }

    /** Cuts servers off from all others until {@link #heal}. Returns the number of connections that are held. */
    public long part(List<Integer> servers) {
        return (Long) connection.send("FAULT.PARTITION", "NODES", places(servers));
    }

    /** Cuts servers off from these others until {@link #heal}. Returns the number of connections that are held. */
    public long part(List<Integer> servers, List<Integer> others) {
        return (Long) connection.send("FAULT.PARTITION", "NODES", places(servers), "FROM", places(others));
    }

    /** Cuts servers off from their clients, including new ones, until {@link #heal}. Returns the number of clients. */
    public long partFromClients(List<Integer> servers, Direction direction) {
        prepare.run();
        return (Long) connection.send(
                "FAULT.PARTITION", "NODES", places(servers), "FROM", "CLIENTS", direction.name());
    }

    /** Delays replication by this time on the clock that all servers share. */
    public void lagBy(Duration lag) {
        connection.send("FAULT.LAG", Milliseconds.of(lag));
    }

    /**
     * Makes a replica the master, with the data that it has. Cuts the clients of the old master, which then follows the
     * new one.
     */
    public void failoverTo(int replica) {
        connection.send("FAULT.FAILOVER", replica);
    }

    /** Makes a replica the master as {@link #failoverTo} does; grant numbers start anew. */
    public void failoverWithTokensTo(int replica) {
        connection.send("FAULT.FAILOVER", replica, "TOKENS");
    }

    private static String places(List<Integer> servers) {
        return servers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
}
