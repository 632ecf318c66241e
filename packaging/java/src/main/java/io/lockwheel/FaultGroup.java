package io.lockwheel;

/** The methods of faults that are no requests. */
abstract class FaultGroup extends Group {
    FaultGroup(Connections connections) {
        super(connections);
    }

    /** Sets whether rules ignore the requests of {@link LockwheelServer#command}. By default they do. */
    public void exempt(boolean isExempt) {
        connections().setExempt(isExempt);
    }
}
