package io.lockwheel;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static java.nio.charset.StandardCharsets.UTF_8;

/** What the server knows, as text for a test that has failed. */
final class Report {
    /** How the names of commands begin by which tests and fixtures steer the server. */
    private static final List<String> STEERING =
            List.of("CLOCK.", "AWAIT.", "CONTROL.", "FAULT.", "LOCK.HISTORY", "LOCK.VERIFY", "LOCK.OBSERVE",
                    "SLOWLOG", "CLIENT LIST", "AUTH ");
    /** How many entries of the history it shows, the last ones. */
    private static final int ENTRIES_SHOWN = 100;
    /** What of an entry does not come with its name. */
    private static final List<String> BEGIN = List.of("seq", "wall", "monotonic", "event", "key");

    private final Connection connection;
    private final StringBuilder text;

    private Report(String title, Connection connection) {
        this.text = new StringBuilder(title).append('\n');
        this.connection = connection;
    }

    /** The report of the server behind a connection that has printed {@code log}; even of one that has ended. */
    static String of(String title, Connection connection, List<String> log) {
        Report report = new Report(title, connection);
        report.part("clock", Report::clockLines);
        report.part("waiting", Report::waitingLines);
        report.part("faults that acted", Report::faultLines);
        report.part("findings", Report::findingLines);
        report.part("history", Report::historyLines);
        report.part("last commands", Report::commandLines);
        report.part("log", unused -> log);
        return report.text.toString();
    }

    private void part(String name, Function<Connection, List<String>> lines) {
        text.append(name).append(":\n");
        List<String> told;
        try {
            told = lines.apply(connection);
        } catch (RuntimeException error) {
            told = List.of(String.valueOf(error.getMessage()));
        }
        told.forEach(line -> text.append("    ").append(line).append('\n'));
    }

    private static List<String> clockLines(Connection connection) {
        Map<String, Object> fields = Resp.fields(connection.send("CLOCK.INFO"));
        fields.computeIfPresent("wall", (name, wall) -> wall + " (" + Instant.ofEpochMilli((Long) wall) + ")");
        fields.putIfAbsent("next", "-");
        Stream<String> told = fields.entrySet().stream().map(field -> field.getKey() + "=" + field.getValue());
        return List.of(told.collect(Collectors.joining(" ")));
    }

    /** The clients that are blocked, with what they wait in. */
    private static List<String> waitingLines(Connection connection) {
        String list = (String) connection.send("CLIENT", "LIST");
        return list.lines()
                .map(Report::words)
                .filter(client -> client.get("flags").contains("b") && !client.get("cmd").startsWith("await."))
                .map(client -> Stream.of("id", "name", "addr", "cmd")
                        .map(name -> name + "=" + client.get(name))
                        .collect(Collectors.joining(" ")))
                .toList();
    }

    /** A line of {@code name=value}. */
    private static Map<String, String> words(String line) {
        return Stream.of(line.split(" "))
                .map(word -> word.split("=", 2))
                .collect(Collectors.toMap(pair -> pair[0], pair -> pair.length > 1 ? pair[1] : ""));
    }

    private static List<String> faultLines(Connection connection) {
        return new Faults(connection, connection, () -> {})
                .list().stream()
                        .filter(rule -> rule.hits() > 0)
                        .map(rule -> rule.name() + " (" + rule.rule() + "): hits=" + rule.hits() + " held=" + rule.held())
                        .toList();
    }

    private static List<String> findingLines(Connection connection) {
        Object reply = connection.send("LOCK.VERIFY", "LEVEL", Level.SUSPECT.name());
        Verdict verdict = Verdict.of(Resp.fields(reply));
        List<Finding> findings = verdict.findings();
        return findings.isEmpty()
                ? List.of(verdict.verdict())
                : findings.stream().map(Finding::toString).toList();
    }

    /** The last entries of the history, each with all that is known of it. */
    private static List<String> historyLines(Connection connection) {
        long last = (Long) Resp.fields(connection.send("LOCK.HISTORY", "COUNT", 0)).get("last");
        long earlier = Math.max(0, last - ENTRIES_SHOWN);
        List<?> entries = (List<?>) Resp.fields(connection.send("LOCK.HISTORY", "SINCE", earlier)).get("entries");
        Stream<String> begin = earlier > 0 ? Stream.of("(" + earlier + " earlier entries)") : Stream.empty();
        return Stream.concat(begin, entries.stream().map(Resp::fields).map(Report::entryLine)).toList();
    }

    private static String entryLine(Map<String, Object> entry) {
        Object key = entry.get("key");
        String begin = entry.get("seq") + " " + entry.get("monotonic") + " ms " + entry.get("event");
        return entry.entrySet().stream()
                .filter(field -> !BEGIN.contains(field.getKey()))
                .filter(field -> field.getValue() != null && !field.getValue().equals(""))
                .filter(field -> !field.getKey().equals("waited") || !field.getValue().equals(0L))
                .map(field -> " " + field.getKey() + "=" + shown(field.getValue()))
                .collect(Collectors.joining("", begin + (key == null ? "" : " " + shown(key)), ""));
    }

    /** The last commands, the newest last, each with who sent it. */
    private static List<String> commandLines(Connection connection) {
        List<Object> entries = new ArrayList<>((List<?>) connection.send("SLOWLOG", "GET", -1));
        Collections.reverse(entries);
        return entries.stream().map(entry -> command((List<?>) entry)).filter(Objects::nonNull).toList();
    }

    /** An entry of the slow log, or null where a test steered the server. */
    private static String command(List<?> entry) {
        String words = ((List<?>) entry.get(3)).stream().map(Report::shown).collect(Collectors.joining(" "));
        String upper = words.toUpperCase(Locale.ROOT);
        if (STEERING.stream().anyMatch(upper::startsWith)) {
            return null;
        }
        Object name = entry.get(5);
        return ("".equals(name) ? entry.get(4) : name) + ": " + words;
    }

    /** A word of a command; of bytes that are no text, what is. */
    static String shown(Object word) {
        return word instanceof byte[] bytes ? new String(bytes, UTF_8) : word.toString();
    }
}
