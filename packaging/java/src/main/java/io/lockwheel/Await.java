package io.lockwheel;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Waits for a state instead of sleeping. Each method returns when the server is in that state, and throws an
 * {@link AwaitException} when the limit of real time passes first: 5 seconds unless {@link #limit} says. Counts mean at
 * least so many, unless {@link #exact} or {@link #atMost} says otherwise.
 */
public final class Await {
    private static final List<String> STATES =
            List.of("EXISTS", "GONE", "string", "list", "hash", "set", "zset", "stream");

    private final ToLongFunction<List<Object>> until;
    private final Duration limit;
    private final List<Object> comparison;

    /** {@code until} sends an {@code AWAIT.*} command, and throws when it was answered by null. */
    Await(ToLongFunction<List<Object>> until) {
        this(until, null, List.of());
    }

    private Await(ToLongFunction<List<Object>> until, Duration limit, List<Object> comparison) {
        this.until = until;
        this.limit = limit;
        this.comparison = comparison;
    }

    /** The same, waiting no longer than this, in real time. */
    public Await limit(Duration limit) {
        return new Await(until, limit, comparison);
    }

    /** The same, waiting for just so many. */
    public Await exact() {
        return new Await(until, limit, List.of("EXACT"));
    }

    /** The same, waiting for no more than so many. */
    public Await atMost() {
        return new Await(until, limit, List.of("ATMOST"));
    }

    /** So many clients are blocked. */
    public void blocked(int count) {
        count("AWAIT.BLOCKED", count);
    }

    /** So many clients are blocked on a key. */
    public void blocked(int count, String key) {
        count("AWAIT.BLOCKED", count, "KEY", key);
    }

    /** So many clients wait for a lock: natively, or subscribed to its Redisson channels. */
    public void waiters(String key, int count) {
        count("AWAIT.WAITERS", key, count);
    }

    /** A channel has so many subscribers. */
    public void subscribers(String channel, int count) {
        count("AWAIT.SUBSCRIBERS", channel, count);
    }

    /** So many clients are connected, the package's own connections among them. */
    public void clients(int count) {
        count("AWAIT.CLIENTS", count);
    }

    /** So many clients are connected that have a name like this. */
    public void clients(int count, String name) {
        count("AWAIT.CLIENTS", count, "NAME", name);
    }

    /** A key is there ({@code EXISTS}), is gone ({@code GONE}), or has this type, as TYPE names it. */
    public void key(String key, String state) {
        Known.check("the state", state, STATES);
        if (state.equalsIgnoreCase("EXISTS") || state.equalsIgnoreCase("GONE")) {
            send("AWAIT.KEY", key, state);
        } else {
            send("AWAIT.KEY", key, "TYPE", state);
        }
    }

    /** A command was executed so often. */
    public void calls(String command, int count) {
        send("AWAIT.CALLS", command, count);
    }

    /** A command was executed so often on keys like this. */
    public void calls(String command, int count, String key) {
        send("AWAIT.CALLS", command, count, "KEY", key);
    }

    /** No client has sent a command for so long, in real time. */
    public void idle(Duration quiet) {
        send("AWAIT.IDLE", Milliseconds.of(quiet));
    }

    /** No client with a name like this has sent a command for so long, in real time. */
    public void idle(Duration quiet, String name) {
        send("AWAIT.IDLE", Milliseconds.of(quiet), "NAME", name);
    }

    /** The history has this event. The number of its entry. */
    public long event(String event) {
        return event(event, new Filters());
    }

    /** The history has this event among these entries, so often as their count says. The number of its entry. */
    public long event(String event, Filters filters) {
        return send(Words.of(List.of("AWAIT.EVENT", event), filters.words()));
    }

    /** A rule has acted so often. */
    public void fault(String name, int count) {
        send("AWAIT.FAULT", name, count);
    }

    /** A rule holds so many requests or replies. */
    public void held(String name, int count) {
        send("AWAIT.HELD", name, count);
    }

    private void count(Object... command) {
        send(Words.of(List.of(command), comparison));
    }

    private long send(Object... command) {
        List<Object> words = new ArrayList<>(List.of(command));
        if (limit != null) {
            words.addAll(List.of("LIMIT", Milliseconds.of(limit)));
        }
        return until.applyAsLong(words);
    }
}
