package io.lockwheel;

import java.time.Duration;
import java.util.List;

/**
 * What a rule for faults does. Durations are of the monotonic clock.
 *
 * @param words as words of a command, behind {@code DO}
 */
public record Action(List<Object> words) {
    /** Makes the words unchangeable. */
    public Action {
        words = List.copyOf(words);
    }

    private static Action of(Object... words) {
        return new Action(List.of(words));
    }

    /**
     * Loses the request, and all that its connection sends and is sent from there on, until the client closes it.
     */
    public static Action dropRequest() {
        return of("DROPREQUEST");
    }

    /** As {@link #dropRequest()}, on a connection that the server cuts after so long. */
    public static Action dropRequest(Duration closeAfter) {
        return of("DROPREQUEST", "CLOSEAFTER", Milliseconds.of(closeAfter));
    }

    /** Executes the request and loses its reply, as {@link #dropRequest()} loses the request. */
    public static Action dropReply() {
        return of("DROPREPLY");
    }

    /** As {@link #dropReply()}, on a connection that the server cuts after so long. */
    public static Action dropReply(Duration closeAfter) {
        return of("DROPREPLY", "CLOSEAFTER", Milliseconds.of(closeAfter));
    }

    /** Executes the request so much later; what is behind it on its connection waits too. */
    public static Action delay(Duration by) {
        return of("DELAY", Milliseconds.of(by));
    }

    /** As {@link #delay(Duration)}, up to {@code jitter} sooner or later than that; the seed draws. */
    public static Action delay(Duration by, Duration jitter) {
        return of("DELAY", Milliseconds.of(by), "JITTER", Milliseconds.of(jitter));
    }

    /** Executes the request at once and answers it so much later. */
    public static Action delayReply(Duration by) {
        return of("DELAYREPLY", Milliseconds.of(by));
    }

    /** As {@link #delayReply(Duration)}, up to {@code jitter} sooner or later than that; the seed draws. */
    public static Action delayReply(Duration by, Duration jitter) {
        return of("DELAYREPLY", Milliseconds.of(by), "JITTER", Milliseconds.of(jitter));
    }

    /** Executes the request when {@link Faults#go(String)} says so. */
    public static Action hold() {
        return of("HOLD");
    }

    /** Executes the request at once and answers it when {@link Faults#go(String)} says so. */
    public static Action holdReply() {
        return of("HOLDREPLY");
    }

    /** Answers this error and does not execute the request. */
    public static Action error(String text) {
        return of("ERROR", text);
    }

    /** Executes the request and answers null. */
    public static Action replyNull() {
        return of("REPLY", "NULL");
    }

    /** Executes the request and answers {@code OK}. */
    public static Action replyOk() {
        return of("REPLY", "OK");
    }

    /** Executes the request and answers this integer. */
    public static Action replyInt(long number) {
        return of("REPLY", "INT", number);
    }

    /** Executes the request and answers this string. */
    public static Action replyBulk(String text) {
        return of("REPLY", "BULK", text);
    }

    /** Executes the request and sends these bytes, which need not be a reply. */
    public static Action replyRaw(byte[] bytes) {
        return of("REPLY", "RAW", bytes.clone());
    }

    /** Cuts the connection before the request is executed. */
    public static Action close() {
        return of("CLOSE");
    }

    /** Cuts the connection after the request was executed; there is no reply. */
    public static Action closeAfter() {
        return of("CLOSEAFTER");
    }

    /** As {@link #close()}, by a reset of TCP instead of an end of the stream. */
    public static Action reset() {
        return of("RESET");
    }

    /** As {@link #closeAfter()}, by a reset of TCP instead of an end of the stream. */
    public static Action resetAfter() {
        return of("RESETAFTER");
    }

    /** Sends the reply in pieces of so many bytes, each in a write of its own. */
    public static Action slice(int length) {
        return of("SLICE", length);
    }

    /** As {@link #slice(int)}, one piece each time that so long has passed. */
    public static Action slice(int length, Duration every) {
        return of("SLICE", length, "EVERY", Milliseconds.of(every));
    }

    /** Sends the reply at so many kilobytes a second. */
    public static Action bandwidth(int kilobytes) {
        return of("BANDWIDTH", kilobytes);
    }

    /** Ends the reply after so many bytes and cuts the connection. */
    public static Action truncate(int length) {
        return of("TRUNCATE", length);
    }

    /** Executes the request twice and answers it once. */
    public static Action duplicate() {
        return of("DUPLICATE");
    }

    /** Executes the request; the messages that it publishes reach nobody, or not the clients that are named. */
    public static Action losePublish() {
        return of("LOSEPUBLISH");
    }

    /** Makes the server forget the script that the request names. */
    public static Action noScript() {
        return of("NOSCRIPT");
    }

    /** Lets the keys of the request expire just before it is executed. */
    public static Action expire() {
        return of("EXPIRE");
    }

    /** Executes the request with this integer argument changed; 1 is the first behind the command. */
    public static Action argAdd(int index, long by) {
        return of("ARG", index, "ADD", by);
    }

    /** Executes the request with every timestamp among its arguments shifted by the clock's offset. */
    public static Action timeShift() {
        return of("TIMESHIFT");
    }
}
