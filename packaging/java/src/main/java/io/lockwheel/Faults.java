package io.lockwheel;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * Makes faults: by rules for single requests, and for whole clients or the whole server. The package's own connections
 * are exempt unless {@link #exempt} says otherwise. A reset of the server ends every fault.
 */
public final class Faults {
    private final Connection connection;
    /** Of {@link LockwheelServer#command}. */
    private final Connection commands;
    /** Opens the package's connections while the server still lets them in. */
    private final Runnable prepare;
    /** Makes a connection to another server than the one at a place. */
    private final IntFunction<Connection> beside;

    Faults(Connection connection, Connection commands, Runnable prepare, IntFunction<Connection> beside) {
        this.connection = connection;
        this.commands = commands;
        this.prepare = prepare;
        this.beside = beside;
    }

    /** Adds a rule: requests that match meet the action. Of several rules the oldest acts. */
    public void add(String name, Match match, Action action) {
        connection.send(Words.of(List.of("FAULT.ADD", name), match.words(), List.of("DO"), action.words()));
    }

    /** Lets go on what a rule holds, the oldest first. How many there were. */
    public long go(String name) {
        return (Long) connection.send("FAULT.GO", name);
    }

    /** Lets go on so many of what a rule holds, the oldest first. How many there were. */
    public long go(String name, int count) {
        return (Long) connection.send("FAULT.GO", name, "COUNT", count);
    }

    /** The rules, the oldest first. */
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

    /** Removes a rule, if it is there; what it holds goes on. */
    public boolean remove(String name) {
        return connection.send("FAULT.DEL", name).equals(1L);
    }

    /** Removes all rules; what they hold goes on. How many there were. */
    public long clear() {
        return (Long) connection.send("FAULT.CLEAR");
    }

    /** Draws for {@link Match#prob} from this seed from now on. */
    public void seed(long seed) {
        connection.send("FAULT.SEED", seed);
    }

    /** Whether rules leave out what {@link LockwheelServer#command} sends; they do unless told. */
    public void exempt(boolean isExempt) {
        commands.setExempt(isExempt);
    }

    /**
     * Reads nothing from clients and writes nothing to them, as if their processes stood still, until
     * {@link #thawClient}. How many there are.
     */
    public long freezeClient(Clients clients) {
        return freeze(clients, "FOREVER");
    }

    /** The same, for so long on the monotonic clock. */
    public long freezeClient(Clients clients, Duration duration) {
        return freeze(clients, Milliseconds.of(duration));
    }

    private long freeze(Clients clients, Object lasts) {
        return (Long) connection.send(Words.of(List.of("FAULT.FREEZECLIENT"), clients.words(), List.of(lasts)));
    }

    /** Lets frozen clients go on. How many there are. */
    public long thawClient(Clients clients) {
        return (Long) connection.send(Words.of(List.of("FAULT.THAWCLIENT"), clients.words()));
    }

    /** Cuts clients off, new connections of theirs too. How many there are now. */
    public long partition(Clients clients, Direction direction) {
        prepare.run();
        return (Long) connection.send(Words.of(List.of("FAULT.PARTITION"), clients.words(), List.of(direction.name())));
    }

    /** Ends all partitions. How many there were. */
    public long heal() {
        return (Long) connection.send("FAULT.HEAL");
    }

    /** From now on writes reach no replica. */
    public void lag() {
        connection.send("FAULT.LAG");
    }

    /** From now on writes of keys like this reach no replica. */
    public void lag(String pattern) {
        connection.send("FAULT.LAG", "KEY", pattern);
    }

    /**
     * A replica takes over: keys are as they were at {@link #lag()}, the scripts are gone, every other connection is
     * cut.
     */
    public void failover() {
        connection.send("FAULT.FAILOVER");
    }

    /** The same, and the numbers of grants go back too. */
    public void failoverWithTokens() {
        connection.send("FAULT.FAILOVER", "TOKENS");
    }

    /** As a restart without persistence: keys, scripts and connections are gone, and nobody is let in for so long. */
    public void restart(Duration down) {
        prepare.run();
        connection.send("FAULT.RESTART", "DOWN", Milliseconds.of(down));
    }

    /** Cuts the connections alone, and lets nobody in for so long; keys, scripts and functions stay. */
    public void restartKeepingData(Duration down) {
        prepare.run();
        connection.send("FAULT.RESTART", "DOWN", Milliseconds.of(down), "KEEP");
    }

    /** As {@link #restart}, and the numbers of grants begin anew. */
    public void restartWithTokens(Duration down) {
        prepare.run();
        connection.send("FAULT.RESTART", "DOWN", Milliseconds.of(down), "TOKENS");
    }

    /**
     * Kills a member of a topology, named by its place from 0, as if its process had ended: its clients and links are
     * cut, its data is gone, and nobody is let in until {@link #up}.
     */
    public void down(int server) {
        kill(server, "FAULT.DOWN", server);
    }

    /** The same for so long, or until {@link #up}. */
    public void down(int server, Duration backAfter) {
        kill(server, "FAULT.DOWN", server, Milliseconds.of(backAfter));
    }

    /** As {@link #down(int)}, and it comes back with its data. */
    public void downKeepingData(int server) {
        kill(server, "FAULT.DOWN", server, "KEEP");
    }

    /** As {@link #down(int, Duration)}, and it comes back with its data. */
    public void downKeepingData(int server, Duration backAfter) {
        kill(server, "FAULT.DOWN", server, Milliseconds.of(backAfter), "KEEP");
    }

    /** Asks another server, if there is one: this one may hang in a script. */
    private void kill(int server, Object... command) {
        try (Connection other = beside.apply(server)) {
            other.send(command);
        }
        commands.leave(server);
    }

    /** Lets a server that was killed come back. Whether it was down. */
    public boolean up(int server) {
        return connection.send("FAULT.UP", server).equals(1L);
    }

    /** Cuts servers off from all others, until {@link #heal}. How many connections between them that holds. */
    public long part(List<Integer> servers) {
        return (Long) connection.send("FAULT.PARTITION", "NODES", places(servers));
    }

    /** The same from these others alone. */
    public long part(List<Integer> servers, List<Integer> others) {
        return (Long) connection.send("FAULT.PARTITION", "NODES", places(servers), "FROM", places(others));
    }

    /** Cuts servers off from their clients, new ones included, until {@link #heal}. How many there are now. */
    public long partFromClients(List<Integer> servers, Direction direction) {
        prepare.run();
        return (Long) connection.send(
                "FAULT.PARTITION", "NODES", places(servers), "FROM", "CLIENTS", direction.name());
    }

    /** From now on replicas are told everything so much later, on the clock that all share. */
    public void lagBy(Duration lag) {
        connection.send("FAULT.LAG", Milliseconds.of(lag));
    }

    /** A replica takes over with what it has; clients of its master are cut, and that follows it. */
    public void failoverTo(int replica) {
        connection.send("FAULT.FAILOVER", replica);
    }

    /** The same, and the numbers of grants go back too. */
    public void failoverWithTokensTo(int replica) {
        connection.send("FAULT.FAILOVER", replica, "TOKENS");
    }

    private static String places(List<Integer> servers) {
        return servers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
}
