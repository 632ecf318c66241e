package io.lockwheel;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/**
 * Something that happened to a lock, or beside one. What an event does not have is null.
 *
 * @param seq its number
 * @param wall when, on the wall clock
 * @param monotonic when, on the monotonic clock: since the server's start
 * @param event {@code acquired}, {@code released}, {@code lost}, {@code queued}, {@code fault}, {@code mark}, …
 * @param db the database
 * @param key the lock
 * @param kind {@code native}, or {@code foreign} where a script or a bare command took the lock
 * @param mode {@code exclusive}, {@code shared} or {@code write}
 * @param owner whose
 * @param grant the number of the grant
 * @param holds how many holds the owner has
 * @param ttl the lease
 * @param waited how long the owner had waited
 * @param cause why
 * @param client the number of the client
 * @param clientName its name
 * @param by the command, or the digest of the script
 * @param fault what a fault did
 * @param text the line of a mark
 * @param from the clock before it was moved, in milliseconds
 * @param to the clock after it was moved, in milliseconds
 * @param left how many permits of a semaphore are left
 * @param held how many permits of a semaphore are held
 */
public record Entry(
        long seq,
        Instant wall,
        Duration monotonic,
        String event,
        Long db,
        String key,
        String kind,
        String mode,
        String owner,
        Long grant,
        Long holds,
        Duration ttl,
        Duration waited,
        String cause,
        Long client,
        String clientName,
        String by,
        String fault,
        String text,
        Long from,
        Long to,
        Long left,
        Long held) {
    static Entry of(Map<String, Object> told) {
        return new Entry(
                (Long) told.get("seq"),
                Instant.ofEpochMilli((Long) told.get("wall")),
                duration(told.get("monotonic")),
                (String) told.get("event"),
                (Long) told.get("db"),
                text(told.get("key")),
                text(told.get("kind")),
                text(told.get("mode")),
                text(told.get("owner")),
                (Long) told.get("grant"),
                (Long) told.get("holds"),
                duration(told.get("ttl")),
                duration(told.get("waited")),
                text(told.get("cause")),
                (Long) told.get("client"),
                text(told.get("clientname")),
                text(told.get("by")),
                text(told.get("fault")),
                text(told.get("text")),
                (Long) told.get("from"),
                (Long) told.get("to"),
                (Long) told.get("left"),
                (Long) told.get("held"));
    }

    private static Duration duration(Object milliseconds) {
        return milliseconds == null ? null : Duration.ofMillis((Long) milliseconds);
    }

    /** A string; of bytes that are none, what is. */
    private static String text(Object reply) {
        return reply == null ? null : Report.shown(reply);
    }
}
