package lockwheel;

import java.io.IOException;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The second process: counts under the lock as the first one does, then ends. */
public final class OtherProcess {
    private static final int TIMEOUT_MILLIS = 30_000;

    private OtherProcess() {}

    /** Wants {@code port}, {@code lock} and {@code rounds}. */
    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        int port = Integer.parseInt(options.required("port"));
        RedissonClient client = Clients.connect(port, "other-process", Clients.DEFAULT_WATCHDOG, options.resp3());
        try (Raw raw = new Raw(port, TIMEOUT_MILLIS)) {
            count(client.getLock(options.required("lock")), raw, Integer.parseInt(options.required("rounds")));
        } finally {
            client.shutdown();
        }
    }

    static String counter(String lock) {
        return lock + ".counter";
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
