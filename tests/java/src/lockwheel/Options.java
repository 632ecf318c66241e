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
 * <p>{@code ports} lists the servers on 127.0.0.1, the first of which is the one that most scenarios use; {@code
 * replicas} lists those that follow it; {@code nodes} lists the nodes of the cluster that is used in its place; {@code
 * sentinels} lists those that know it by the name {@code m}; {@code replicated} lists it and its replicas, which say
 * themselves who is who; {@code listens-to-replicas=true} lets clients listen to the latter; {@code only} lists
 * scenarios to run (all when absent); {@code patience} is how many milliseconds a scenario waits for what has to happen
 * before it fails; {@code resp3=true} lets the clients speak that; {@code native=true} adds the scenarios that only
 * Lockwheel can pass; {@code clock=true} runs, instead of all others, those that turn its clock, {@code failover=true}
 * those that a failover happens in.
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

    /** The ports of the first server's replicas, to which clients read and listen; none unless told. */
    List<Integer> replicas() {
        return numbers(words.getOrDefault("replicas", ""));
    }

    /** The ports of the nodes of a cluster that stands for the first server; none unless told. */
    List<Integer> nodes() {
        return numbers(words.getOrDefault("nodes", ""));
    }

    /** The ports of the sentinels that say where the first server is; none unless told. */
    List<Integer> sentinels() {
        return numbers(words.getOrDefault("sentinels", ""));
    }

    /** The ports of a master and its replicas, which say themselves who is who; none unless told. */
    List<Integer> replicated() {
        return numbers(words.getOrDefault("replicated", ""));
    }

    /** Whether clients listen to replicas of those; to the master unless told. */
    boolean listensToReplicas() {
        return Boolean.parseBoolean(words.getOrDefault("listens-to-replicas", "false"));
    }

    /** The words that another process wants so as to find the servers in the same way. */
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

    /** Milliseconds to wait for what has to happen; far above what any working server needs. */
    long patience() {
        return Long.parseLong(words.getOrDefault("patience", "90000"));
    }

    /** Whether the clients are to speak RESP3; RESP2 unless told. */
    boolean resp3() {
        return Boolean.parseBoolean(words.getOrDefault("resp3", "false"));
    }

    /** Whether the servers are Lockwheel, whose native locks are to be tried too; not unless told. */
    boolean nativeLocks() {
        return Boolean.parseBoolean(words.getOrDefault("native", "false"));
    }

    /** Whether to run the scenarios that turn the server's clock, and no others; not unless told. */
    boolean clock() {
        return Boolean.parseBoolean(words.getOrDefault("clock", "false"));
    }

    /** Whether to run the scenarios that a failover happens in, and no others; not unless told. */
    boolean failover() {
        return Boolean.parseBoolean(words.getOrDefault("failover", "false"));
    }

    /** The value of a word that must be there. */
    String required(String key) {
        String value = words.get(key);
        if (value == null) {
            throw new IllegalArgumentException(key + "=... is missing");
        }
        return value;
    }
}
