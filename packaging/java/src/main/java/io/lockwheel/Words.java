package io.lockwheel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Words of a command. */
final class Words {
    private Words() {}

    /** A command with these words behind it. */
    static Object[] of(List<?>... parts) {
        List<Object> words = new ArrayList<>();
        for (List<?> part : parts) {
            words.addAll(part);
        }
        return words.toArray();
    }

    /** These words and more, unchangeable. */
    static List<Object> and(List<Object> words, Object... more) {
        List<Object> all = new ArrayList<>(words);
        Collections.addAll(all, more);
        return List.copyOf(all);
    }
}
