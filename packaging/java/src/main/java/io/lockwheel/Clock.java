package io.lockwheel;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The two clocks of the server: the wall clock, on which keys expire, and the monotonic one, on which blocked
 * clients wait. Durations and instants are whole milliseconds; others are an {@link IllegalArgumentException}.
 */
public final class Clock {
    private final Connection connection;

    Clock(Connection connection) {
        this.connection = connection;
    }

    /** Lets both clocks stand still. Where the wall clock stands. */
    public Instant freeze() {
        return wall("CLOCK.FREEZE");
    }

    /** Lets both clocks run from where they stand. */
    public Instant resume() {
        return wall("CLOCK.RESUME");
    }

    /** Makes the wall clock the system's time again; both clocks run. */
    public Instant reset() {
        return wall("CLOCK.RESET");
    }

    /** Moves the wall clock alone, back too: a clock that jumps. */
    public Instant step(Duration duration) {
        return wall("CLOCK.STEP", Milliseconds.of(duration));
    }

    /** Moves the wall clock alone to an instant. */
    public Instant set(Instant instant) {
        return wall("CLOCK.SET", Milliseconds.of(instant));
    }

    /** Moves both clocks. Every deadline on the way fires at its own instant before this returns. */
    public Turned advance(Duration duration) {
        return advance(duration, new TurnOptions());
    }

    /** Moves both clocks. Every deadline on the way fires at its own instant before this returns. */
    public Turned advance(Duration duration, TurnOptions options) {
        return turn(List.of("CLOCK.ADVANCE", Milliseconds.of(duration)), options);
    }

    /** Moves both clocks to the next deadline and fires it; null: there is none. */
    public Turned next() {
        return next(1);
    }

    /** Moves both clocks to the next deadline, so often, and fires it; null: there is none. */
    public Turned next(int count) {
        return next(count, new TurnOptions());
    }

    /** Moves both clocks to the next deadline, so often, and fires it; null: there is none. */
    public Turned next(int count, TurnOptions options) {
        return turn(List.of("CLOCK.NEXT", "COUNT", count), options);
    }

    /** Where it stands. */
    public ClockInfo info() {
        Map<String, Object> told = Resp.fields(connection.send("CLOCK.INFO"));
        Object next = told.get("next");
        return new ClockInfo(
                (String) told.get("mode"),
                instant(told.get("wall")),
                duration(told.get("monotonic")),
                duration(told.get("offset")),
                next == null ? null : duration(next),
                (Long) told.get("timers"));
    }

    private Instant wall(Object... command) {
        return instant(connection.send(command));
    }

    private Turned turn(List<Object> command, TurnOptions options) {
        List<Object> words = new ArrayList<>(command);
        words.addAll(options.words());
        Object reply = connection.send(words.toArray());
        if (reply == null) {
            return null;
        }
        Map<String, Object> told = Resp.fields(reply);
        List<?> what = (List<?>) told.getOrDefault("what", List.of());
        return new Turned(
                instant(told.get("wall")),
                (Long) told.get("fired"),
                told.get("settled").equals(1L),
                what.stream().map(each -> fired((List<?>) each)).toList());
    }

    private static Turned.Fired fired(List<?> told) {
        return new Turned.Fired((String) told.get(0), told.get(1));
    }

    private static Instant instant(Object milliseconds) {
        return Instant.ofEpochMilli((Long) milliseconds);
    }

    private static Duration duration(Object milliseconds) {
        return Duration.ofMillis((Long) milliseconds);
    }
}
