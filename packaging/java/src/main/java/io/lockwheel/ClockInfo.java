package io.lockwheel;

import java.time.Duration;
import java.time.Instant;

/**
 * Where the clock stands.
 *
 * @param mode {@code real} or {@code manual}
 * @param wall the wall clock
 * @param monotonic the monotonic clock: since the server's start
 * @param offset the wall clock minus the system's time
 * @param next until the next deadline on either hand; null: there is none
 * @param timers how many deadlines there are
 */
public record ClockInfo(
        String mode, Instant wall, Duration monotonic, Duration offset, Duration next, long timers) {}
