package io.lockwheel;

import java.time.Duration;
import java.time.Instant;

/** Whole milliseconds, as the server counts time. */
final class Milliseconds {
    private static final int NANOS = 1_000_000;

    private Milliseconds() {}

    /** A duration; an {@link IllegalArgumentException} where it is no whole number of milliseconds, or too long. */
    static long of(Duration duration) {
        if (duration.getNano() % NANOS != 0) {
            throw new IllegalArgumentException("a duration is a whole number of milliseconds, not " + duration);
        }
        try {
            return duration.toMillis();
        } catch (ArithmeticException tooLong) {
            throw new IllegalArgumentException("a duration has at most 2^63-1 milliseconds, not " + duration, tooLong);
        }
    }

    /** An instant, since 1970; an {@link IllegalArgumentException} where it is no whole number of them, or too far. */
    static long of(Instant instant) {
        if (instant.getNano() % NANOS != 0) {
            throw new IllegalArgumentException("an instant is a whole number of milliseconds, not " + instant);
        }
        try {
            return instant.toEpochMilli();
        } catch (ArithmeticException tooFar) {
            throw new IllegalArgumentException("an instant is within 2^63-1 ms of 1970, not " + instant, tooFar);
        }
    }
}
