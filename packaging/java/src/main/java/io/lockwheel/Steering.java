package io.lockwheel;

/** A server that generated methods steer. Arguments are as {@link Words#of} takes them. */
interface Steering {
    /** Asks on the package's own connection, which rules for faults leave out. */
    Object ask(Object... arguments);

    /** Asks another server than this one, which may hang in a script, if another lives. */
    Object askAvoiding(int server, Object... arguments);

    /** Asks on the connection of {@link LockwheelServer#command}, so that faults meet the request. */
    Object own(Object... arguments);

    /** Asks for a wait; an {@link AwaitException} when its limit passes first. */
    Object until(Object... arguments);

    /** Opens connections that stay: after a partition or a restart the server lets no new ones in. */
    void prepare();

    /** Sets whether rules ignore the requests of {@link LockwheelServer#command}. */
    void setExempt(boolean isExempt);
}
