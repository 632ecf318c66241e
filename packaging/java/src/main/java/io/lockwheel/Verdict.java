package io.lockwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What the server finds in the history.
 *
 * @param verdict {@code violated}, {@code suspect}, {@code ok}, or {@code inconclusive} where nothing was found and
 *     the history is not whole
 * @param events how many entries it has looked at
 * @param truncated whether older entries had to go
 * @param findings what is wrong
 * @param reason why the history is not whole; null where it is
 * @param leftOut how many findings there are beside these
 */
public record Verdict(
        String verdict, long events, boolean truncated, List<Finding> findings, String reason, long leftOut) {
    static Verdict of(Map<String, Object> told) {
        return new Verdict(
                (String) told.get("verdict"),
                (Long) told.get("events"),
                Resp.isTrue(told.get("truncated")),
                ((List<?>) told.get("findings")).stream().map(Resp::fields).map(Finding::of).toList(),
                (String) told.get("reason"),
                told.get("left-out") instanceof Long leftOut ? leftOut : 0);
    }

    /** Whether nothing was found in a history that is not whole. */
    boolean isInconclusive() {
        return verdict.equals("inconclusive");
    }

    /** The verdict in a line, with the reason if there is one. */
    String line() {
        return reason == null ? verdict : verdict + ": " + reason;
    }

    /** The lines of a report: the findings, or that there are none. */
    List<String> lines() {
        List<String> lines = new ArrayList<>(findings.stream().map(Finding::toString).toList());
        if (findings.isEmpty()) {
            lines.add(line());
        }
        if (leftOut > 0) {
            lines.add("and " + leftOut + " more");
        }
        return lines;
    }
}
