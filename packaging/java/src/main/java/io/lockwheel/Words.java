package io.lockwheel;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/** The words of requests. */
final class Words {
    private static final int NANOS = 1_000_000;

    private Words() {}

    /** Returns the words of these parts. A part may be a list of words. Durations and instants become milliseconds. */
    static List<Object> of(Object... parts) {
        List<Object> words = new ArrayList<>();
        for (Object part : parts) {
            if (part instanceof List<?> several) {
                words.addAll(several);
            } else {
                words.add(word(part));
            }
        }
        return words;
    }

    private static Object word(Object part) {
        if (part instanceof Duration duration) {
            return milliseconds(duration);
        } else if (part instanceof Instant instant) {
            return milliseconds(instant);
        }
        return part instanceof Enum<?> choice ? choice.name() : part instanceof byte[] bytes ? bytes.clone() : part;
    }

    /** Returns whole milliseconds. Throws an {@link IllegalArgumentException} if there are none, or too many. */
    private static long milliseconds(Duration duration) {
        return whole("a duration", duration, duration.getNano(), duration::toMillis);
    }

    /** Returns whole milliseconds since 1970, with the same errors. */
    static long milliseconds(Instant instant) {
        return whole("an instant", instant, instant.getNano(), instant::toEpochMilli);
    }

    private static long whole(String name, Object given, int nanos, LongSupplier milliseconds) {
        if (nanos % NANOS != 0) {
            throw new IllegalArgumentException(name + " is a whole number of milliseconds, not " + given);
        }
        try {
            return milliseconds.getAsLong();
        } catch (ArithmeticException tooFar) {
            throw new IllegalArgumentException(name + " has at most 2^63-1 milliseconds, not " + given, tooFar);
        }
    }

    /** Returns whole seconds. Throws an {@link IllegalArgumentException} for parts of a second. */
    static long seconds(Duration duration) {
        if (duration.getNano() != 0) {
            throw new IllegalArgumentException("a duration is a whole number of seconds, not " + duration);
        }
        return duration.getSeconds();
    }

    /** Returns keys behind their number. */
    static List<Object> counted(List<String> keys) {
        return of(keys.size(), keys);
    }

    /** Returns servers by their positions. */
    static String places(List<Integer> servers) {
        return servers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    /** Returns clients as a rule names them. */
    static List<Object> ofRule(Clients clients) {
        if (clients.ofRule() == null) {
            throw new IllegalArgumentException("a rule names clients by id, name or lib");
        }
        return clients.ofRule();
    }

    /** Checks a choice of a method that takes only some of the enum. */
    static <T extends Enum<T>> T among(String name, T given, List<T> known) {
        if (!known.contains(given)) {
            String all = known.stream().map(Enum::name).collect(Collectors.joining(", "));
            throw new IllegalArgumentException(name + " is one of " + all + ", not " + given);
        }
        return given;
    }
}
