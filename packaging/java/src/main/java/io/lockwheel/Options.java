package io.lockwheel;

import java.util.ArrayList;
import java.util.List;

/** Options of a method, each behind its word. */
abstract class Options<T extends Options<T>> {
    private final List<Object> words = new ArrayList<>();

    @SuppressWarnings("unchecked")
    final T with(Object... more) {
        words.addAll(List.of(Words.of(more)));
        return (T) this;
    }

    final List<Object> words() {
        return words;
    }
}
