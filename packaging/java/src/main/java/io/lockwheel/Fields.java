package io.lockwheel;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The fields of a reply that is a record. */
final class Fields {
    private final Map<String, Object> told;

    /** Names and values. */
    Fields(Object reply) {
        told = Replies.fields(reply);
    }

    /** Values alone, which have these names by their positions. */
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

    /** A field that may be null, or missing. */
    <T> T maybe(String name, Function<Object, T> read) {
        return told.get(name) == null ? null : get(name, read);
    }

    /** A list that may be missing. */
    <T> List<T> list(String name, Function<Object, T> read) {
        return told.get(name) == null ? List.of() : get(name, reply -> Replies.list(reply, read));
    }
}
