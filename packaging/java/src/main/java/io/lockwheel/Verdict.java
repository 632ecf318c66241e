package io.lockwheel;

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
 */
public record Verdict(String verdict, long events, boolean truncated, List<Finding> findings) {
    static Verdict of(Map<String, Object> told) {
        return new Verdict(
                (String) told.get("verdict"),
                (Long) told.get("events"),
                Resp.isTrue(told.get("truncated")),
                ((List<?>) told.get("findings")).stream().map(Resp::fields).map(Finding::of).toList());
    }
}
