package io.lockwheel;

import java.util.List;

/** Which entries of the history: {@code new Filters().key("order:*").count(10)}. */
public final class Filters {
    private final List<Object> words;

    /** All. */
    public Filters() {
        this(List.of());
    }

    private Filters(List<Object> words) {
        this.words = words;
    }

    /** Of these, those of keys like this. */
    public Filters key(String pattern) {
        return new Filters(Words.and(words, "KEY", pattern));
    }

    /** Of these, those of owners like this. */
    public Filters owner(String pattern) {
        return new Filters(Words.and(words, "OWNER", pattern));
    }

    /** Of these, those after an entry. */
    public Filters since(long seq) {
        return new Filters(Words.and(words, "SINCE", seq));
    }

    /** Of these, no more than so many; of events that are awaited, so many. */
    public Filters count(long count) {
        return new Filters(Words.and(words, "COUNT", count));
    }

    List<Object> words() {
        return words;
    }
}
