package lockwheel;

import java.util.Objects;

/** Assertions. The exception of a failed one is a failure of the scenario, never an error of the runner. */
final class Check {
    private Check() {}

    static void equal(Object expected, Object actual) {
        if (!Objects.equals(expected, actual)) {
            throw new AssertionError("expected " + shown(expected) + ", got " + shown(actual));
        }
    }

    static void that(boolean holds, String claim) {
        if (!holds) {
            throw new AssertionError("not so: " + claim);
        }
    }

    static void within(long low, long high, long actual, String what) {
        that(low <= actual && actual <= high, what + " is in " + low + ".." + high + ", got " + actual);
    }

    /** Runs code that must throw, and returns the exception. */
    static <E extends Throwable> E throwing(Class<E> kind, Scenario.Body body) {
        try {
            body.run(null);
        } catch (Throwable thrown) {
            if (kind.isInstance(thrown)) {
                return kind.cast(thrown);
            }
            throw new AssertionError("expected " + kind.getName() + ", got " + thrown, thrown);
        }
        throw new AssertionError("expected " + kind.getName() + ", nothing was thrown");
    }

    private static String shown(Object value) {
        return value == null ? "null" : "<" + value + "> (" + value.getClass().getSimpleName() + ")";
    }
}
