package io.lockwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Findings as lines of a report. */
final class Findings {
    private Findings() {}

    /** Whether nothing was found, in a history that is whole. */
    static boolean isClean(Verdict verdict) {
        return verdict.findings().isEmpty() && !verdict.verdict().equals("inconclusive");
    }

    /** The findings, or that there are none. */
    static List<String> lines(Verdict verdict) {
        List<String> lines = new ArrayList<>(verdict.findings().stream().map(Findings::line).toList());
        if (lines.isEmpty()) {
            lines.add(verdict.reason() == null ? verdict.verdict() : verdict.verdict() + ": " + verdict.reason());
        }
        if (verdict.leftOut() > 0) {
            lines.add("and " + verdict.leftOut() + " more");
        }
        return lines;
    }

    private static String line(Finding finding) {
        String of = finding.key().isEmpty() ? "" : " of " + finding.key();
        String level = finding.level().name().toLowerCase(Locale.ROOT);
        return level + " " + finding.invariant() + of + ": " + finding.text();
    }
}
