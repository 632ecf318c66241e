package io.lockwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The history has findings of the level that was asked for, or is not whole and has none. The message has the findings,
 * or the reason, and the report.
 */
public final class FindingsError extends AssertionError {
    private static final long serialVersionUID = 1;
    private final transient List<Finding> findings;

    FindingsError(Verdict verdict, String report) {
        super(String.join("\n", lines(verdict)) + "\n" + report);
        findings = List.copyOf(verdict.findings());
    }

    /** The findings; empty where the history is not whole. */
    public List<Finding> findings() {
        return findings;
    }

    /** The lines of a report: the findings, or that there are none. */
    static List<String> lines(Verdict verdict) {
        List<String> lines = new ArrayList<>(verdict.findings().stream().map(FindingsError::line).toList());
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
        return finding.level().name().toLowerCase(Locale.ROOT) + " " + finding.invariant() + of + ": " + finding.text();
    }
}
