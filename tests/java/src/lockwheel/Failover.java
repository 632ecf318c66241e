package lockwheel;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Phaser;

/**
 * The one failover of a JVM, for which all its scenarios wait. Once each scenario has prepared the state that must
 * survive, the JVM prints {@code ready} and reads a line of its input. The controlling process performs the failover
 * before it sends that line.
 */
final class Failover {
    private final Phaser phaser;

    Failover(int scenarios) {
        phaser = new Phaser(scenarios) {
            @Override
            protected boolean onAdvance(int phase, int left) {
                return left == 0 || happen();
            }
        };
    }

    /** Returns after the failover. */
    void await() {
        phaser.arriveAndAwaitAdvance();
    }

    /** Records that a scenario has ended: nobody waits for it any more. */
    void leave() {
        phaser.arriveAndDeregister();
    }

    /** False, because there may be later scenarios, for which nobody waits. */
    private boolean happen() {
        if (phaser.getPhase() > 0) {
            return false;
        }
        System.out.println("ready");
        System.out.flush();
        try {
            return System.in.read() < 0;
        } catch (IOException broken) {
            throw new IllegalStateException(broken);
        }
    }

    /** The scenarios of this version. */
    static void addTo(List<Scenario> scenarios) {
        new FailoverGroup().addTo(scenarios);
        for (String name : List.of("SpinFailover", "FencedFailover")) {
            Groups.Group group = Groups.optional(name);
            if (group != null) {
                group.addTo(scenarios);
            }
        }
    }
}
