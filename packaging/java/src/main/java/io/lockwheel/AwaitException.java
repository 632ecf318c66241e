package io.lockwheel;

/** A state that was awaited did not come within the limit. The message has the server's report. */
public final class AwaitException extends RuntimeException {
    private static final long serialVersionUID = 1;

    AwaitException(String message) {
        super(message);
    }
}
