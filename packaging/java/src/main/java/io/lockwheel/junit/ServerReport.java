package io.lockwheel.junit;

/** What a server knew when a test failed, beside the failure: a stack trace shows what is suppressed. */
final class ServerReport extends RuntimeException {
    private static final long serialVersionUID = 1;

    ServerReport(String report) {
        super(report, null, false, false);
    }

    @Override
    public String toString() {
        return getMessage();
    }
}
