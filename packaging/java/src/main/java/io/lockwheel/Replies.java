package io.lockwheel;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Readers of replies. Each throws an {@link IllegalStateException} for a reply of another shape. */
final class Replies {
    private Replies() {}

    /** Reads an integer, or its digits: a cursor is a string. */
    static long integer(Object reply) {
        return reply instanceof Long number ? number : parsed("integer", reply, Long::parseLong);
    }

    /** Reads a number, which RESP2 sends as a string. */
    static double number(Object reply) {
        return reply instanceof Number number ? number.doubleValue() : parsed("number", reply, Double::parseDouble);
    }

    private static <T> T parsed(String kind, Object reply, Function<String, T> parse) {
        try {
            return parse.apply(text(reply));
        } catch (IllegalStateException | NumberFormatException other) {
            throw isNo(kind, reply);
        }
    }

    /** Reads a string. Other bytes, and the number of a client in the place of a key, become strings. */
    static String text(Object reply) {
        if (reply instanceof byte[] bytes) {
            return new String(bytes, UTF_8);
        }
        if (reply instanceof String || reply instanceof Long) {
            return reply.toString();
        }
        throw isNo("string", reply);
    }

    /** Reads yes or no, in either protocol. */
    static boolean flag(Object reply) {
        return reply instanceof Boolean flag ? flag : integer(reply) != 0;
    }

    static Instant instant(Object reply) {
        return Instant.ofEpochMilli(integer(reply));
    }

    static Duration duration(Object reply) {
        return Duration.ofMillis(integer(reply));
    }

    /** Reads a duration in the form of PTTL. Returns null if there is no end. */
    static Duration timeLeft(Object reply) {
        long milliseconds = integer(reply);
        return milliseconds < 0 ? null : Duration.ofMillis(milliseconds);
    }

    /** Reads a reply that may be null. */
    static <T> T maybe(Object reply, Function<Object, T> read) {
        return reply == null ? null : read.apply(reply);
    }

    static <T> List<T> list(Object reply, Function<Object, T> read) {
        return items(reply).stream().<T>map(read::apply).toList();
    }

    static List<?> items(Object reply) {
        if (reply instanceof List<?> items) {
            return items;
        }
        throw isNo("array", reply);
    }

    static <T> Map<String, T> map(Object reply, Function<Object, T> read) {
        Map<String, T> map = new LinkedHashMap<>();
        fields(reply).forEach((name, value) -> map.put(name, read.apply(value)));
        return map;
    }

    /** Reads names and values, in either protocol. */
    static Map<String, Object> fields(Object reply) {
        Map<String, Object> fields = new LinkedHashMap<>();
        if (reply instanceof Map<?, ?> told) {
            told.forEach((name, value) -> fields.put(text(name), value));
            return fields;
        }
        if (!(reply instanceof List<?> pairs) || pairs.size() % 2 != 0) {
            throw isNo("map", reply);
        }
        for (int index = 0; index < pairs.size(); index += 2) {
            fields.put(text(pairs.get(index)), pairs.get(index + 1));
        }
        return fields;
    }

    private static IllegalStateException isNo(String kind, Object reply) {
        return new IllegalStateException("the reply is no " + kind + ": " + reply);
    }
}
