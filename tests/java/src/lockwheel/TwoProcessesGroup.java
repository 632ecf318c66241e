package lockwheel;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;

/** Two clients that share only the server: the second one runs in its own JVM. */
final class TwoProcessesGroup implements Groups.Group {
    private static final int ROUNDS = 30;

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("lock.two-processes", TwoProcessesGroup::count));
    }

    private static void count(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        String waiting = PlainLockGroup.CHANNEL + "{" + scene.name() + "}";
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        File output = File.createTempFile("lockwheel-other-process", ".log");
        List<String> words = new ArrayList<>(scene.options().passedOn());
        words.addAll(List.of("lock=" + scene.name(), "rounds=" + ROUNDS));
        Process other = start(output, words);
        try {
            scene.until(
                    "the other process waits for the lock, or has ended",
                    () -> raw.subscribers(waiting) == 1 || !other.isAlive());
            lock.unlock();
            OtherProcess.count(lock, raw, ROUNDS);
            Check.that(other.waitFor(scene.patience(), TimeUnit.MILLISECONDS), "the other process ends");
            Check.equal(0, other.exitValue());
        } catch (Throwable failed) {
            failed.addSuppressed(new AssertionError("the other process said:\n" + Files.readString(output.toPath())));
            throw failed;
        } finally {
            other.destroyForcibly();
            output.delete();
        }
        Check.equal(Integer.toString(2 * ROUNDS), raw.text("GET", OtherProcess.counter(scene.name())));
        Check.equal(0L, raw.number("EXISTS", scene.name()));
    }

    private static Process start(File output, List<String> words) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx128m",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp",
                System.getProperty("java.class.path"),
                OtherProcess.class.getName()));
        command.addAll(words);
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output)
                .start();
    }
}
