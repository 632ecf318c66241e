package io.lockwheel;

import java.util.List;

/**
 * What the history has of what was asked for.
 *
 * @param first the oldest number that it still has
 * @param last its newest number
 * @param truncated whether older entries had to go
 * @param entries the entries, the oldest first
 */
public record Entries(long first, long last, boolean truncated, List<Entry> entries) {}
