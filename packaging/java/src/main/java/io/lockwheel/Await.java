package io.lockwheel;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Waits for a state instead of sleeping. Each method returns when the server is in that state, and throws an
 * {@link AwaitException} when the limit of real time passes first: 5 seconds unless {@link #limit} says.
 */
public final class Await {
    private final Consumer<List<Object>> until;
    private final Duration limit;

    /** {@code until} sends an {@code AWAIT.*} command, and throws when it was not answered by 1. */
    Await(Consumer<List<Object>> until, Duration limit) {
        this.until = until;
        this.limit = limit;
    }

    /** The same, waiting no longer than this, in real time. */
    public Await limit(Duration limit) {
        return new Await(until, limit);
    }

    /** At least so many clients are blocked. */
    public void blocked(int count) {
        send("AWAIT.BLOCKED", count);
    }

    /** At least so many clients are blocked on a key. */
    public void blocked(int count, String key) {
        send("AWAIT.BLOCKED", count, "KEY", key);
    }

    /** At least so many clients wait for a lock: natively, or subscribed to its Redisson channels. */
    public void waiters(String key, int count) {
        send("AWAIT.WAITERS", key, count);
    }

    /** A channel has at least so many subscribers. */
    public void subscribers(String channel, int count) {
        send("AWAIT.SUBSCRIBERS", channel, count);
    }

    /** A key is there ({@code EXISTS}), is gone ({@code GONE}), or has this type, as TYPE names it. */
    public void key(String key, String state) {
        if (state.equals("EXISTS") || state.equals("GONE")) {
            send("AWAIT.KEY", key, state);
        } else {
            send("AWAIT.KEY", key, "TYPE", state);
        }
    }

    private void send(Object... command) {
        List<Object> words = new ArrayList<>(List.of(command));
        if (limit != null) {
            words.addAll(List.of("LIMIT", Milliseconds.of(limit)));
        }
        until.accept(words);
    }
}
