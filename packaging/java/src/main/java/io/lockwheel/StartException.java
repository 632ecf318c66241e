package io.lockwheel;

/** No server could be started. The message has what the program said, if there was one. */
public final class StartException extends RuntimeException {
    private static final long serialVersionUID = 1;

    StartException(String message) {
        super(message);
    }

    StartException(String message, Throwable cause) {
        super(message, cause);
    }
}
