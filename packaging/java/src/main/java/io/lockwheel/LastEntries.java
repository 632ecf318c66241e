package io.lockwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a report shows of the history: the last entries, and how many came before. */
record LastEntries(List<Map<String, Object>> entries, long earlier) {
    private static final int SHOWN = 100;
    /** What of an entry does not come with its name. */
    private static final List<String> BEGIN = List.of("seq", "wall", "monotonic", "event", "key");
    /** How Redisson names the owner of a lock. */
    private static final Pattern REDISSON =
            Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\\d+(:write)?");

    static LastEntries of(Connection connection) {
        long last = Entries.read(connection.send("LOCK.HISTORY", "COUNT", 0)).last();
        long earlier = Math.max(0, last - SHOWN);
        Fields told = new Fields(connection.send("LOCK.HISTORY", "SINCE", earlier));
        return new LastEntries(told.list("entries", Replies::fields), earlier);
    }

    /** Says which of Redisson's locks expired after an advance of the clock: their watchdog may have been late. */
    Optional<String> watchdogNote() {
        List<String> lost = entries.stream()
                .dropWhile(entry -> !"clock".equals(entry.get("event")))
                .filter(LastEntries::hasExpiredInRedisson)
                .map(entry -> Replies.text(entry.get("key")))
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

    private static boolean hasExpiredInRedisson(Map<String, Object> entry) {
        return "lost".equals(entry.get("event"))
                && "expired".equals(entry.get("cause"))
                && "foreign".equals(entry.get("kind"))
                && entry.get("owner") instanceof String owner
                && REDISSON.matcher(owner).matches();
    }

    /** Each entry with all that is known of it; clients that came, or went, one after the other are one line. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        if (earlier > 0) {
            lines.add("(" + earlier + " earlier entries)");
        }
        for (List<Map<String, Object>> run : Report.runs(entries, LastEntries::isOfOneRun)) {
            lines.addAll(run.size() < Report.RUN_ABBREVIATED
                    ? run.stream().map(LastEntries::line).toList()
                    : List.of(runLine(run)));
        }
        return lines;
    }

    private static boolean isOfOneRun(Map<String, Object> first, Map<String, Object> next) {
        Object event = first.get("event");
        return (event.equals("connect") || event.equals("disconnect"))
                && event.equals(next.get("event"))
                && Objects.equals(first.get("node"), next.get("node"));
    }

    private static String runLine(List<Map<String, Object>> run) {
        Map<String, Object> first = run.get(0);
        Map<String, Object> last = run.get(run.size() - 1);
        long names = run.stream().map(entry -> Objects.toString(entry.get("clientname"), "")).distinct().count();
        String rest = Stream.of("clientname", "node")
                .filter(field -> names == 1 || field.equals("node"))
                .filter(field -> !Objects.toString(first.get(field), "").isEmpty())
                .map(field -> " " + field + "=" + Replies.text(first.get(field)))
                .collect(Collectors.joining());
        return range(first.get("seq"), last.get("seq")) + " " + range(first.get("monotonic"), last.get("monotonic"))
                + " ms " + first.get("event") + " x" + run.size() + " client="
                + ranges(run.stream().map(entry -> (Long) entry.get("client")).toList()) + rest;
    }

    private static String range(Object first, Object last) {
        return first.equals(last) ? first.toString() : first + "-" + last;
    }

    /** Joins numbers that follow one another. */
    static String ranges(List<Long> numbers) {
        List<String> parts = new ArrayList<>();
        int begin = 0;
        for (int end = 1; end <= numbers.size(); end++) {
            if (end == numbers.size() || numbers.get(end) != numbers.get(end - 1) + 1) {
                parts.add(range(numbers.get(begin), numbers.get(end - 1)));
                begin = end;
            }
        }
        return String.join(",", parts);
    }

    private static String line(Map<String, Object> entry) {
        Object key = entry.get("key");
        String begin = entry.get("seq") + " " + entry.get("monotonic") + " ms " + entry.get("event");
        return entry.entrySet().stream()
                .filter(field -> !BEGIN.contains(field.getKey()))
                .filter(field -> field.getValue() != null && !field.getValue().equals(""))
                .filter(field -> !field.getKey().equals("waited") || !field.getValue().equals(0L))
                .map(field -> " " + field.getKey() + "=" + Replies.text(field.getValue()))
                .collect(Collectors.joining("", begin + (key == null ? "" : " " + Replies.text(key)), ""));
    }
}
