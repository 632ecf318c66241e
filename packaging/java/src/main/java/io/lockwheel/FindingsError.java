package io.lockwheel;

import java.util.List;

/**
 * The history has findings of the level that the server was started with, or is not whole and has none. The message has
 * the findings, or the reason, and the report.
 */
public final class FindingsError extends AssertionError {
    private static final long serialVersionUID = 1;
    private final transient List<Finding> findings;

    FindingsError(Verdict verdict, String report) {
        super(String.join("\n", Findings.lines(verdict)) + "\n" + report);
        findings = List.copyOf(verdict.findings());
    }

    /** The findings; empty where the history is not whole. */
    public List<Finding> findings() {
        return findings;
    }
}
