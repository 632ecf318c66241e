package lockwheel;

import java.util.ArrayList;
import java.util.List;
import org.redisson.api.RedissonClient;

/**
 * Two members, of two clients, for each of several objects, which native clients use at the same time.
 *
 * <p>Needs {@code port}, the port of the server, {@code desk}, the port of the referees, and {@code objects}. Succeeds
 * once all have had their last turn.
 */
public final class Contention {
    private static final int MEMBERS = 2;

    private Contention() {}

    /** See the class. */
    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        int port = Integer.parseInt(options.required("port"));
        int desk = Integer.parseInt(options.required("desk"));
        List<Thread> members = new ArrayList<>();
        for (int i = 0; i < MEMBERS; i++) {
            RedissonClient client =
                    Clients.connect(port, "client-" + i, Clients.DEFAULT_WATCHDOG, options.resp3());
            for (String object : options.required("objects").split(",")) {
                members.add(started(object, client, desk, i));
            }
        }
        for (Thread member : members) {
            member.join();
        }
        Runtime.getRuntime().halt(0);
    }

    private static Thread started(String object, RedissonClient client, int desk, int number) {
        Runnable turns = () -> {
            try {
                play(object, client, desk);
            } catch (Throwable failed) {
                // The other members would wait for it.
                failed.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        };
        Thread thread = new Thread(turns, object + "-" + number);
        thread.start();
        return thread;
    }

    private static void play(String object, RedissonClient client, int desk) throws Exception {
        Contender contender = Contenders.contender(object, client);
        try (Referee referee = new Referee(desk, object)) {
            for (long turn = referee.turn(); turn >= 0; turn = referee.turn()) {
                contender.turn(referee, turn);
            }
        }
    }
}
