package io.lockwheel;

import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the server knows, as text for a test that has failed. */
final class Report {
    /** How the names of commands begin by which tests and fixtures steer the server. */
    private static final List<String> STEERING =
            List.of("CLOCK.", "AWAIT.", "CONTROL.", "FAULT.", "LOCK.HISTORY", "LOCK.VERIFY", "LOCK.OBSERVE",
                    "SLOWLOG", "CLIENT LIST", "AUTH ");
    /** From how many lines on a run is one. */
    private static final int RUN_ABBREVIATED = 3;

    private final Connection connection;
    private final StringBuilder text;

    private Report(String title, Connection connection) {
        this.text = new StringBuilder(title).append('\n');
        this.connection = connection;
    }

    /** The report of the server behind a connection that has printed {@code log}; even of one that has ended. */
    static String of(String title, Connection connection, List<String> log) {
        Report report = new Report(title, connection);
        report.text.append(teller(connection));
        report.part("clock", Report::clockLines);
        report.part("waiting", Report::waitingLines);
        report.part("faults that acted", Report::faultLines);
        report.part("findings", Report::findingLines);
        report.part("history", each -> LastEntries.of(each).lines());
        report.part("last commands", Report::commandLines);
        report.part("log", unused -> log);
        return report.text.toString();
    }

    /** Of a topology whose first server is down or hangs, the server that tells. */
    private static String teller(Connection connection) {
        try {
            int place = connection.place();
            InetSocketAddress found = connection.address(place);
            String address = Host.withPort(found.getHostString(), found.getPort());
            String state = connection.isHanging(0) ? "hangs" : "is down";
            return place == 0 ? "" : "server 0 " + state + ": server " + place + " (" + address + ") tells\n";
        } catch (RuntimeException noServer) {
            return ""; // As each part says.
        }
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
        Map<String, Object> fields = Replies.fields(connection.send("CLOCK.INFO"));
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
        return Replies.list(connection.send("FAULT.LIST"), Rule::read).stream()
                .filter(rule -> rule.hits() > 0)
                .map(rule -> rule.name() + " (" + rule.rule() + "): hits=" + rule.hits() + " held=" + rule.held())
                .toList();
    }

    private static List<String> findingLines(Connection connection) {
        Verdict verdict = Verdict.read(connection.send("LOCK.VERIFY", "LEVEL", Level.SUSPECT.name()));
        return Stream.concat(FindingsError.lines(verdict).stream(), watchdogNote(connection).stream()).toList();
    }

    private static Optional<String> watchdogNote(Connection connection) {
        try {
            return LastEntries.of(connection).watchdogNote();
        } catch (ReplyException withoutHistory) {
            return Optional.empty();
        }
    }

    /** The last commands, the newest last, each with who sent it; runs of the same words are one line. */
    private static List<String> commandLines(Connection connection) {
        List<Object> entries = new ArrayList<>((List<?>) connection.send("SLOWLOG", "GET", -1));
        Collections.reverse(entries);
        List<Command> commands =
                entries.stream().map(entry -> Command.of((List<?>) entry)).filter(Objects::nonNull).toList();
        List<List<Command>> runs = runs(commands, (first, next) -> next.words.equals(first.words));
        return runs.stream().flatMap(run -> Command.lines(run).stream()).toList();
    }

    /** Parts of a list whose elements belong to their first one. */
    private static <T> List<List<T>> runs(List<T> all, BiPredicate<T, T> isOfRun) {
        List<List<T>> runs = new ArrayList<>();
        int begin = 0;
        for (int end = 1; end <= all.size(); end++) {
            if (end == all.size() || !isOfRun.test(all.get(begin), all.get(end))) {
                runs.add(all.subList(begin, end));
                begin = end;
            }
        }
        return runs;
    }

    private record Command(String client, String words) {
        /** An entry of the slow log, or null where a test steered the server. */
        static Command of(List<?> entry) {
            String words = ((List<?>) entry.get(3)).stream().map(Replies::text).collect(Collectors.joining(" "));
            String upper = words.toUpperCase(Locale.ROOT);
            if (STEERING.stream().anyMatch(upper::startsWith)) {
                return null;
            }
            Object name = entry.get(5);
            return new Command(Replies.text("".equals(name) ? entry.get(4) : name), words);
        }

        /** Commands of the same words. */
        static List<String> lines(List<Command> run) {
            Command first = run.get(0);
            long clients = run.stream().map(Command::client).distinct().count();
            if (run.size() < RUN_ABBREVIATED) {
                return run.stream().map(command -> command.client + ": " + command.words).toList();
            }
            return List.of(clients == 1
                    ? first.client + ": " + first.words + " (" + run.size() + " times)"
                    : first.words + " (" + run.size() + " times, " + clients + " clients)");
        }
    }
}
