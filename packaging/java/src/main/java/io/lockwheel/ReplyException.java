package io.lockwheel;

/** What the server answers to a request that it refuses. */
public final class ReplyException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ReplyException(String text) {
        super(text);
    }

    /** Whether it is of a server that refuses nearly all for a while, and has done nothing. */
    boolean isOfHangingServer() {
        return switch (code()) {
            case "BUSY", "LOADING", "MASTERDOWN" -> true;
            default -> false;
        };
    }

    /** The first word: {@code ERR}, {@code WRONGTYPE}, … */
    public String code() {
        return getMessage().split(" ", 2)[0];
    }
}
