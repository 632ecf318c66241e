package io.lockwheel;

/** From which level on findings in the history count. */
public enum Level {
    /** None. */
    OFF,
    /** What breaks a promise of a lock. */
    VIOLATION,
    /** What may have. */
    SUSPECT,
    /** Bad habits too. */
    LINT
}
