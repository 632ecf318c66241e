package io.lockwheel;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Options of an advance of the clock.
 *
 * @param settle after each instant goes on only when no command has come for so long, in real time; null: does not wait
 * @param limit the most that {@code settle} waits in all; null: the server's default, 5 seconds
 * @param nowake does not notify Redisson's waiters of leases that the advance ends
 */
public record TurnOptions(Duration settle, Duration limit, boolean nowake) {
    /** Waits for nobody, and wakes Redisson's waiters. */
    public TurnOptions() {
        this(null, null, false);
    }

    /** These, going on only when clients have been quiet for so long. */
    public TurnOptions settle(Duration settle) {
        return new TurnOptions(settle, limit, nowake);
    }

    /** These, waiting in all no longer than this. */
    public TurnOptions limit(Duration limit) {
        return new TurnOptions(settle, limit, nowake);
    }

    /** These, telling Redisson's waiters or not. */
    public TurnOptions nowake(boolean nowake) {
        return new TurnOptions(settle, limit, nowake);
    }

    /** As words of a command. */
    List<Object> words() {
        List<Object> words = new ArrayList<>();
        if (nowake) {
            words.add("NOWAKE");
        }
        if (settle != null) {
            words.addAll(List.of("SETTLE", Milliseconds.of(settle)));
        }
        if (limit != null) {
            words.addAll(List.of("LIMIT", Milliseconds.of(limit)));
        }
        return words;
    }
}
