package lockwheel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The command line of a JVM: {@code key=value} words.
 *
 * <ul>
 *   <li>{@code ports} lists the servers on 127.0.0.1. Most scenarios use the first one.
 *   <li>{@code replicas} lists the replicas of the first server.
 *   <li>{@code nodes} lists the nodes of a cluster in its place.
 *   <li>{@code sentinels} lists the sentinels that know it by the name {@code m}.
 *   <li>{@code replicated} lists it and its replicas, which report their roles themselves.
 *   <li>{@code listens-to-replicas=true} lets clients subscribe to those replicas.
 *   <li>{@code only} lists scenarios to run (all if absent).
 *   <li>{@code patience} is the number of milliseconds that a scenario waits for an expected event before it
 *     fails.
 *   <li>{@code resp3=true} lets the clients speak RESP3.
 *   <li>{@code native=true} adds the scenarios that only Lockwheel can pass.
 *   <li>{@code clock=true} runs only the scenarios that advance the server's clock.
 *   <li>{@code failover=true} runs only the scenarios with a failover.
 * </ul>
 */
final class Options {
    private final Map<String, String> words = new HashMap<>();

    Options(String[] args) {
        for (String arg : args) {
            int equals = arg.indexOf('=');
            if (equals < 0) {
                throw new IllegalArgumentException("not key=value: " + arg);
            }
            words.put(arg.substring(0, equals), arg.substring(equals + 1));
        }
    }

    /** The ports of the servers, at least one. */
    List<Integer> ports() {
        return numbers(required("ports"));
    }

    /**
     * The ports of the first server's replicas, from which clients read and to which they subscribe. Empty by default.
     */
    List<Integer> replicas() {
        return numbers(words.getOrDefault("replicas", ""));
    }

    /** The ports of the nodes of a cluster in place of the first server. Empty by default. */
    List<Integer> nodes() {
        return numbers(words.getOrDefault("nodes", ""));
    }

    /** The ports of the sentinels that know the first server. Empty by default. */
    List<Integer> sentinels() {
        return numbers(words.getOrDefault("sentinels", ""));
    }

    /** The ports of a master and its replicas, which report their roles themselves. Empty by default. */
    List<Integer> replicated() {
        return numbers(words.getOrDefault("replicated", ""));
    }

    /** Whether clients subscribe to the replicas of those. The default is the master. */
    boolean listensToReplicas() {
        return Boolean.parseBoolean(words.getOrDefault("listens-to-replicas", "false"));
    }

    /** The words with which another process finds the servers in the same way. */
    List<String> passedOn() {
        List<String> keys =
                List.of("ports", "replicas", "nodes", "sentinels", "replicated", "listens-to-replicas", "resp3");
        List<String> passed = new ArrayList<>();
        for (String key : keys) {
            if (words.containsKey(key)) {
                passed.add(key + "=" + words.get(key));
            }
        }
        return passed;
    }

    private static List<Integer> numbers(String list) {
        List<Integer> numbers = new ArrayList<>();
        for (String number : list.isEmpty() ? new String[0] : list.split(",")) {
            numbers.add(Integer.parseInt(number));
        }
        return numbers;
    }

    /** The names of the scenarios to run; empty for all. */
    Set<String> only() {
        String names = words.getOrDefault("only", "");
        return names.isEmpty() ? Set.of() : new TreeSet<>(Arrays.asList(names.split(",")));
    }

    /** Milliseconds to wait for an expected event; far above the need of any working server. */
    long patience() {
        return Long.parseLong(words.getOrDefault("patience", "90000"));
    }

    /** Whether the clients are to speak RESP3. The default is RESP2. */
    boolean resp3() {
        return Boolean.parseBoolean(words.getOrDefault("resp3", "false"));
    }

    /** Whether the servers are Lockwheel, so that its native locks are tested too. The default is no. */
    boolean nativeLocks() {
        return Boolean.parseBoolean(words.getOrDefault("native", "false"));
    }

    /** Whether to run only the scenarios that advance the server's clock. The default is no. */
    boolean clock() {
        return Boolean.parseBoolean(words.getOrDefault("clock", "false"));
    }

    /** Whether to run only the scenarios with a failover. The default is no. */
    boolean failover() {
        return Boolean.parseBoolean(words.getOrDefault("failover", "false"));
    }

    /** The value of a mandatory word. */
    String required(String key) {
        String value = words.get(key);
        if (value == null) {
            throw new IllegalArgumentException(key + "=... is missing");
        }
        return value;
    }
}
