package io.lockwheel;

import java.util.Locale;

/** From which level on findings in the history count. */
public enum Level {
    /** None. */
    OFF,
    /** What breaks a promise of a lock. */
    VIOLATION,
    /** What may have. */
    SUSPECT,
    /** Bad habits too. */
    LINT;

    static Level read(Object reply) {
        String word = Replies.text(reply);
        try {
            return valueOf(word.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException unknown) {
            throw new IllegalStateException("the reply is no level: " + word, unknown);
        }
    }
}
