package lockwheel;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Runs the scenarios side by side and prints the result of each, one a line:
 *
 * <pre>
 * ok NAME MILLIS
 * failed NAME MILLIS        (followed by the stack trace, each line behind "| ")
 * absent GROUP              (this version of the client has no such class)
 * done OK FAILED
 * ready                     (now the failover: see {@link Failover})
 * </pre>
 *
 * The exit code is 0 if none failed, 1 if one did.
 */
public final class Main {
    /** Scenarios mostly wait, so that many at once cost little. */
    private static final int THREADS = 8;

    /** The time after which a scenario counts as hanging; a machine that is merely slow does not reach it. */
    private static final long HUNG_MILLIS = TimeUnit.MINUTES.toMillis(8);

    private final World world;
    private final Queue<Scenario> queue;
    private final Failover failover;
    private final Map<String, Thread> running = new ConcurrentHashMap<>();
    private int ok;
    private int failed;

    private Main(World world, List<Scenario> scenarios) {
        this.world = world;
        this.queue = new ArrayDeque<>(scenarios);
        this.failover = world.options().failover() ? new Failover(scenarios.size()) : null;
        world.expects(failover);
    }

    /** See {@link Options}. */
    public static void main(String[] args) throws Exception {
        World world = new World(new Options(args));
        Main main = new Main(world, choose(world.options()));
        boolean hung = main.runAll();
        if (!hung) {
            world.close();
        }
        say("done " + main.ok + " " + main.failed);
        // Exits without waiting for the threads of failed scenarios.
        System.out.flush();
        Runtime.getRuntime().halt(main.failed == 0 ? 0 : 1);
    }

    private static List<Scenario> choose(Options options) {
        List<Scenario> all = all(options);
        Set<String> only = options.only();
        if (only.isEmpty()) {
            return all;
        }
        Set<String> unknown = new TreeSet<>(only);
        List<Scenario> chosen = new ArrayList<>();
        for (Scenario scenario : all) {
            if (unknown.remove(scenario.name())) {
                chosen.add(scenario);
            }
        }
        if (!unknown.isEmpty()) {
            throw new IllegalArgumentException("no such scenario: " + unknown);
        }
        return chosen;
    }

    private static List<Scenario> all(Options options) {
        if (options.failover()) {
            return Groups.ofFailover();
        }
        return options.clock()
                ? Groups.ofClock()
                : Groups.scenarios(options.nativeLocks(), group -> say("absent " + group));
    }

    /** There is one clock, which scenarios advance one after another; and one failover, for which all wait. */
    private int threads() {
        if (failover != null) {
            return queue.size();
        }
        return world.options().clock() ? 1 : THREADS;
    }

    /** Whether a scenario hung. */
    private boolean runAll() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        int count = threads();
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(this::work, "runner-" + i);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(HUNG_MILLIS);
        for (Thread thread : threads) {
            thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
        }
        running.entrySet().stream().sorted(Map.Entry.comparingByKey()).forEach(this::reportHung);
        return !running.isEmpty();
    }

    private void work() {
        for (Scenario scenario = next(); scenario != null; scenario = next()) {
            running.put(scenario.name(), Thread.currentThread());
            long start = System.nanoTime();
            Throwable thrown = run(scenario);
            if (failover != null) {
                failover.leave();
            }
            running.remove(scenario.name());
            report(scenario.name(), TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start), thrown);
        }
    }

    private synchronized Scenario next() {
        return queue.poll();
    }

    private Throwable run(Scenario scenario) {
        try (Scene scene = new Scene(world, scenario.name())) {
            scenario.body().run(scene);
            return null;
        } catch (Throwable thrown) {
            return thrown;
        }
    }

    private synchronized void report(String name, long millis, Throwable thrown) {
        if (thrown == null) {
            ok++;
            say("ok " + name + " " + millis);
            return;
        }
        failed++;
        StringWriter trace = new StringWriter();
        thrown.printStackTrace(new PrintWriter(trace));
        say("failed " + name + " " + millis + "\n" + quoted(trace.toString()));
    }

    private void reportHung(Map.Entry<String, Thread> entry) {
        AssertionError error = new AssertionError("hangs; this is where");
        error.setStackTrace(entry.getValue().getStackTrace());
        report(entry.getKey(), HUNG_MILLIS, error);
    }

    private static String quoted(String text) {
        return "| " + text.stripTrailing().replace("\t", "    ").replace("\n", "\n| ");
    }

    private static void say(String line) {
        System.out.println(line);
    }
}
