package io.lockwheel;

import java.util.List;
import java.util.stream.Collectors;

/** The history has findings of the level that the server was started with. The message has them and the report. */
public final class FindingsError extends AssertionError {
    private static final long serialVersionUID = 1;
    private final transient List<Finding> findings;

    FindingsError(List<Finding> findings, String report) {
        super(findings.stream().map(Finding::toString).collect(Collectors.joining("\n")) + "\n" + report);
        this.findings = List.copyOf(findings);
    }

    /** What is wrong. */
    public List<Finding> findings() {
        return findings;
    }
}
