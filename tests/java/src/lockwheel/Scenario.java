package lockwheel;

/** One named check of one behaviour, run once a JVM. */
record Scenario(String name, Body body) {
    /** What a scenario does; anything it throws is its failure. */
    interface Body {
        void run(Scene scene) throws Throwable;
    }
}
