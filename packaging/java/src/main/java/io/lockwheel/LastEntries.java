package io.lockwheel;

import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The history in a report: a line for each of the last entries. */
record LastEntries(List<String> lines) {
    private static final int SHOWN = 100;
    /** The end of a lease of Redisson's. */
    private static final Pattern LOST = Pattern.compile("^\\d+ \\d+ ms lost (.+?) db=\\d+ kind=foreign .*"
            + "owner=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\\d+(:write)? .*cause=expired");

    static LastEntries of(Connection connection) {
        long last = Entries.read(connection.send("LOCK.HISTORY", "COUNT", 0)).last();
        long earlier = Math.max(0, last - SHOWN);
        String text = Replies.text(connection.send("LOCK.HISTORY", "SINCE", earlier, "FORMAT", "TEXT"));
        Stream<String> begin = earlier > 0 ? Stream.of("(" + earlier + " earlier entries)") : Stream.of();
        return new LastEntries(Stream.concat(begin, text.lines()).toList());
    }

    /** Says which of Redisson's locks expired after an advance of the clock: their watchdog may have been late. */
    Optional<String> watchdogNote() {
        List<String> lost = lines.stream()
                .dropWhile(line -> !line.contains(" ms clock "))
                .flatMap(line -> LOST.matcher(line).results())
                .map(found -> found.group(1))
                .distinct()
                .toList();
        if (lost.isEmpty()) {
            return Optional.empty();
        }
        String keys = lost.get(0) + (lost.size() == 1 ? " was" : " and " + (lost.size() - 1) + " more were");
        return Optional.of("note: " + keys + " lost by expiry after the clock was turned. Redisson's watchdog renews a "
                + "lock in real time, which the clock does not turn: without a lease time of its own a lock needs a "
                + "small lockWatchdogTimeout, turns shorter than that, and await().event(\"renewed\") after each");
    }
}
