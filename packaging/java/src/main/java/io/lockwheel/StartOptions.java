package io.lockwheel;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The values of the options of a server, and what they mean for its start. */
abstract class StartOptions {
    /** Values by the names of the options. The names of the program's parameters begin with {@code --}. */
    private final Map<String, Object> values;

    StartOptions(Map<String, Object> values) {
        this.values = values;
    }

    /**
     * Returns the values with another one.
     *
     * @throws IllegalArgumentException for a topology without a word, or with a parameter that belongs into the args
     */
    final Map<String, Object> with(String name, Object value) {
        Map<String, Object> all = new LinkedHashMap<>(values);
        all.put(name, checked(name, value));
        return all;
    }

    private static Object checked(String name, Object value) {
        if (value == null && !name.equals("binary")) {
            throw new NullPointerException(name + " is null");
        } else if (value instanceof String[] args) {
            return List.of(args);
        } else if (name.equals("topology")) {
            return topology(value.toString());
        } else if (value instanceof Instant instant) {
            Words.milliseconds(instant);
            return instant.toString();
        } else if (value instanceof Boolean isSet) {
            return isSet ? "yes" : "no";
        }
        return value instanceof Duration ? Words.of(value).get(0) : value;
    }

    /** Refuses, in a topology, the parameters that this package sets itself. */
    private static String topology(String topology) {
        if (topology.isBlank()) {
            throw new IllegalArgumentException(
                    "topology is 'replicas N', 'sentinel N' or 'cluster M[xN]', not '" + topology + "'");
        }
        Arguments words = new Arguments(List.of(topology.strip().split("\\s+")));
        for (String own : ServerProcess.OWN) {
            if (words.has(own)) {
                throw new IllegalArgumentException(
                        "topology has --" + own + ", which would have no effect there: it belongs into args");
            }
        }
        return topology.strip();
    }

    private Object value(String name, Object otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    final String time() {
        return value("time", "real").toString();
    }

    final String seed() {
        return value("seed", 0).toString();
    }

    final List<String> args() {
        return ((List<?>) value("args", List.of())).stream().map(String.class::cast).toList();
    }

    /** The program. If null, the environment, the package or PATH names one. */
    final Path binary() {
        return (Path) values.get("binary");
    }

    final Level verify() {
        return (Level) value("verify", Level.OFF);
    }

    /** The topology; empty for one server. */
    final String topology() {
        return value("topology", "").toString();
    }

    /** Returns the options that are parameters of the program, as words of its command line. */
    final List<String> parameters() {
        List<String> words = new ArrayList<>();
        values.forEach((name, value) -> {
            if (name.startsWith("--")) {
                words.addAll(List.of(name, value.toString()));
            }
        });
        return words;
    }

    /** Returns the last value of a parameter among the args, or null if it is absent or empty. */
    final String parameter(String name) {
        List<String> found = new Arguments(args()).values(name);
        return found.isEmpty() || found.get(0).isEmpty() ? null : found.get(0);
    }

    /** The address to connect to. */
    final String host() {
        return Host.of(new Arguments(args()).values("bind"));
    }

    /** Returns the seed of the args, or else the option. */
    final String effectiveSeed() {
        String seed = parameter("seed");
        return seed == null ? seed() : seed;
    }

    @Override
    public final boolean equals(Object other) {
        return other instanceof StartOptions options && values.equals(options.values);
    }

    @Override
    public final int hashCode() {
        return values.hashCode();
    }
}
