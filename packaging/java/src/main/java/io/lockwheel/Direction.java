package io.lockwheel;

/** What of clients a partition stops. */
public enum Direction {
    /** What they send. */
    IN,
    /** What they are sent. */
    OUT,
    /** Both. */
    BOTH
}
