package io.lockwheel;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The fields of a reply that is a record. */
final class Fields {
    private final Map<String, Object> told;

    /** Reads names and values. */
    Fields(Object reply) {
        told = Replies.fields(reply);
    }

    /** Reads values without names. The names are given in their order. */
    Fields(Object reply, String... names) {
        List<?> items = Replies.items(reply);
        told = new LinkedHashMap<>();
        for (int index = 0; index < Math.min(names.length, items.size()); index++) {
            told.put(names[index], items.get(index));
        }
    }

    <T> T get(String name, Function<Object, T> read) {
        try {
            return read.apply(told.get(name));
        } catch (IllegalStateException other) {
            throw new IllegalStateException(name + ": " + other.getMessage(), other);
        }
    }

    /** Reads a field that may be null, or missing. */
    <T> T maybe(String name, Function<Object, T> read) {
        return told.get(name) == null ? null : get(name, read);
    }

    /** Reads a list that may be missing. */
    <T> List<T> list(String name, Function<Object, T> read) {
        return told.get(name) == null ? List.of() : get(name, reply -> Replies.list(reply, read));
    }
}
