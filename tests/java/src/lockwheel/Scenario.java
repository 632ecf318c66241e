package lockwheel;

/** One named check of one behaviour, run once in a JVM. */
record Scenario(String name, Body body) {
    /** The code of a scenario; any exception is its failure. */
    interface Body {
        void run(Scene scene) throws Throwable;
    }
}
