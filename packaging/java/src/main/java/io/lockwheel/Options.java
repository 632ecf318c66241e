package io.lockwheel;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The options of a request.
 *
 * @param <T> the class with the methods that set them
 */
abstract class Options<T extends Options<T>> {
    /** The words of each option. An option without words is not set. */
    private final Map<String, List<Object>> words = new LinkedHashMap<>();

    /** Takes the names of the options, in the order of the request. */
    Options(String... names) {
        for (String name : names) {
            words.put(name, List.of());
        }
    }

    List<Object> words() {
        return Words.of(words.values().toArray());
    }

    /** Sets an option that has a value. */
    final T option(String token, Object value) {
        return words(token, token, value);
    }

    final T flag(String token) {
        return words(token, token);
    }

    /** Sets a flag beside which another one may not be set. */
    final T either(String token, String other) {
        if (!words.get(other).isEmpty()) {
            throw new IllegalArgumentException("either " + token + " or " + other + " may be set, not both");
        }
        return flag(token);
    }

    /** Sets an option to these parts of a request. */
    @SuppressWarnings("unchecked")
    final T words(String name, Object... parts) {
        words.put(name, Words.of(parts));
        return (T) this;
    }
}
