package io.lockwheel;

import java.time.Instant;

/**
 * What a turn of the clock did.
 *
 * @param wall where the wall hand stands
 * @param fired how many deadlines have fired
 * @param settled whether clients fell silent after each instant, where {@code settle} asked for it
 */
public record Turned(Instant wall, long fired, boolean settled) {}
