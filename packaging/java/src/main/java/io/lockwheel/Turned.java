package io.lockwheel;

import java.time.Instant;
import java.util.List;

/**
 * The effects of one advance of the clock.
 *
 * @param wall where the wall clock stands
 * @param fired how many deadlines have fired
 * @param settled whether clients fell silent after each instant, where {@code settle} asked for it
 * @param what what {@code next} has fired
 */
public record Turned(Instant wall, long fired, boolean settled, List<Fired> what) {
    /**
     * A deadline that has fired.
     *
     * @param kind its kind
     * @param whose its key, or the number of its client
     */
    public record Fired(String kind, Object whose) {}
}
