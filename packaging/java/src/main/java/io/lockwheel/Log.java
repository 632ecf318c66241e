package io.lockwheel;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** The last lines that the server has printed. */
final class Log {
    /** How many a report shows. */
    private static final int KEPT = 20;

    private final Deque<String> lines = new ArrayDeque<>();

    synchronized void add(String line) {
        if (lines.size() == KEPT) {
            lines.removeFirst();
        }
        lines.addLast(line);
    }

    synchronized List<String> lines() {
        return List.copyOf(lines);
    }
}
