package lockwheel;

import java.io.IOException;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The second process: counts under the lock as the first one does, then ends. */
public final class OtherProcess {
    private OtherProcess() {}

    /** Needs {@code lock}, {@code rounds}, and the addresses of the servers. */
    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        int port = options.ports().get(0);
        RedissonClient client = Clients.connect(port, "other-process", Clients.DEFAULT_WATCHDOG, options);
        String lock = options.required("lock");
        World world = new World(options);
        try (Scene scene = new Scene(world, lock)) {
            count(client.getLock(lock), scene.raw(), Integer.parseInt(options.required("rounds")));
        } finally {
            client.shutdown();
        }
    }

    static String counter(String lock) {
        return "{" + lock + "}.counter";
    }

    /** Reads and writes a counter in two steps, which only a lock makes safe. */
    static void count(RLock lock, Raw raw, int rounds) throws IOException {
        String counter = counter(lock.getName());
        for (int round = 0; round < rounds; round++) {
            lock.lock();
            try {
                String before = raw.text("GET", counter);
                raw.call("SET", counter, Long.toString(before == null ? 1 : Long.parseLong(before) + 1));
            } finally {
                lock.unlock();
            }
        }
    }
}
