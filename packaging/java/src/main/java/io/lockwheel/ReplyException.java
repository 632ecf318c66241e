package io.lockwheel;

/** What the server answers to a request that it refuses. */
public final class ReplyException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ReplyException(String text) {
        super(text);
    }

    /** The first word: {@code ERR}, {@code WRONGTYPE}, … */
    public String code() {
        return getMessage().split(" ", 2)[0];
    }
}
