package io.lockwheel;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Words of a command. */
final class Words {
    private static final List<String> STATES =
            List.of("EXISTS", "GONE", "string", "list", "hash", "set", "zset", "stream");

    private Words() {}

    /** The words of arguments, options, actions and clients. An action stands behind all conditions. */
    static Object[] of(Object... parts) {
        List<Object> words = new ArrayList<>();
        List<Object> action = new ArrayList<>();
        for (Object part : parts) {
            if (part instanceof Action last) {
                action.add("DO");
                action.addAll(last.words());
            } else {
                add(words, part);
            }
        }
        words.addAll(action);
        return words.toArray();
    }

    private static void add(List<Object> words, Object part) {
        if (part instanceof Duration duration) {
            words.add(Milliseconds.of(duration));
        } else if (part instanceof Instant instant) {
            words.add(Milliseconds.of(instant));
        } else if (part instanceof Enum<?> choice) {
            words.add(choice.name());
        } else if (part instanceof Clients clients) {
            words.addAll(clients.words());
        } else if (part instanceof Options<?> options) {
            words.addAll(options.words());
        } else if (part instanceof List<?> list) {
            list.forEach(each -> add(words, each));
        } else {
            words.add(part);
        }
    }

    /** Whole seconds. */
    static long seconds(Duration duration) {
        if (duration.getNano() != 0) {
            throw new IllegalArgumentException("this duration is a whole number of seconds, not " + duration);
        }
        return duration.toSeconds();
    }

    /** Places of servers, as a request lists them. */
    static String places(List<Integer> servers) {
        return servers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    /** The state of a key, as AWAIT.KEY takes it. */
    static List<Object> state(String state) {
        Known.check("the state", state, STATES);
        String upper = state.toUpperCase(Locale.ROOT);
        return upper.equals("EXISTS") || upper.equals("GONE") ? List.of(upper) : List.of("TYPE", state);
    }
}
