package io.lockwheel;

import java.util.List;
import java.util.Locale;

/** The state of a key: {@code EXISTS} is any type, {@code GONE} no key. The others are types, as TYPE names them. */
public enum KeyState {
    EXISTS, GONE, STRING, LIST, HASH, SET, ZSET, STREAM;

    List<Object> words() {
        return this == EXISTS || this == GONE ? List.of(name()) : List.of("TYPE", name().toLowerCase(Locale.ROOT));
    }
}
