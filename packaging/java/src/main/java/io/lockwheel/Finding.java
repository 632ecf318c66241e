package io.lockwheel;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Something wrong in the history.
 *
 * @param level how much it weighs
 * @param invariant what does not hold
 * @param key the lock; empty where it is none
 * @param seqs the entries that show it
 * @param owners whose
 * @param evidence the same in words
 * @param text the whole in a sentence
 */
public record Finding(
        Level level, String invariant, String key, List<Long> seqs, List<String> owners, List<String> evidence, String text) {
    static Finding of(Map<String, Object> told) {
        return new Finding(
                Level.valueOf(((String) told.get("level")).toUpperCase(Locale.ROOT)),
                (String) told.get("invariant"),
                Report.shown(told.get("key")),
                ((List<?>) told.get("seqs")).stream().map(seq -> (Long) seq).toList(),
                ((List<?>) told.get("owners")).stream().map(Report::shown).toList(),
                ((List<?>) told.get("evidence")).stream().map(Report::shown).toList(),
                (String) told.get("text"));
    }

    /** As a report shows it. */
    @Override
    public String toString() {
        String of = key.isEmpty() ? "" : " of " + key;
        return level.name().toLowerCase(Locale.ROOT) + " " + invariant + of + ": " + text;
    }
}
