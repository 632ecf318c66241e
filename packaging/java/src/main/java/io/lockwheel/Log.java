package io.lockwheel;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** The first and the last lines that the server has printed. */
final class Log {
    /** How many lines a report shows, and the error of a server that does not start. */
    private static final int KEPT = 20;
    /** How many of these the error has from the beginning, where the cause may be. */
    private static final int FIRST = KEPT / 2;

    private final List<String> first = new ArrayList<>();
    private final Deque<String> last = new ArrayDeque<>();
    private int count;

    synchronized void add(String line) {
        count++;
        if (first.size() < FIRST) {
            first.add(line);
        }
        if (last.size() == KEPT) {
            last.removeFirst();
        }
        last.addLast(line);
    }

    synchronized List<String> lines() {
        return List.copyOf(last);
    }

    /** The first lines, and the last. */
    synchronized String said() {
        List<String> shown = new ArrayList<>(last);
        if (count > KEPT) {
            shown = new ArrayList<>(first);
            shown.add("…");
            shown.addAll(lines().subList(FIRST, KEPT));
        }
        return String.join("\n", shown).strip();
    }
}
