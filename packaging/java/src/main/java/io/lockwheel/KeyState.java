package io.lockwheel;

import java.util.List;
import java.util.Locale;

/** The state of a key: whether it exists, or its type. */
public enum KeyState {
    /** The key exists. */
    EXISTS,
    /** The key does not exist. */
    GONE,
    /** The key is a string. */
    STRING,
    /** The key is a list. */
    LIST,
    /** The key is a hash. */
    HASH,
    /** The key is a set. */
    SET,
    /** The key is a sorted set. */
    ZSET,
    /** The key is a stream. */
    STREAM;

    List<Object> words() {
        return this == EXISTS || this == GONE ? List.of(name()) : List.of("TYPE", name().toLowerCase(Locale.ROOT));
    }
}
