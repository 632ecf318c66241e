package io.lockwheel;

/**
 * A rule for faults, and what came of it.
 *
 * @param name its name
 * @param rule its words behind the name
 * @param matched how often all that it names has matched
 * @param skipped how many of these it let pass first
 * @param hits how often it has acted
 * @param left how often it can still act; null: there is no end to it
 * @param held how many requests or replies it holds
 */
public record Rule(String name, String rule, long matched, long skipped, long hits, Long left, long held) {}
