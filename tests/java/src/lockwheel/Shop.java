package lockwheel;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * One of several processes of a shop. Its buyers read the stock, and take an item off it, in two steps. The lock around
 * these steps decides whether the shop sells more than it has.
 *
 * <p>Needs {@code port}, {@code process} (a name), {@code buyers} (threads of this process), {@code all} (buyers of
 * all processes) and {@code locks}, the kinds of lock to try one after the other: {@code none}, {@code set} (SET NX PX
 * and compare-and-delete), {@code rlock}, {@code native} (LOCK.ACQUIRE), {@code mixed} (both of these on one name).
 * For a kind {@code k} the stock is in {@code shop:k:stock}; what was sold is counted in {@code shop:k:sold}.
 */
public final class Shop {
    private static final int TIMEOUT_MILLIS = 60_000;

    /** A lease far longer than any purchase. */
    private static final String LEASE_MILLIS = "60000";

    private static final String COMPARE_AND_DELETE =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

    private final RedissonClient client;
    private final int port;
    private final String process;
    private final long all;

    private Shop(Options options) {
        port = Integer.parseInt(options.required("port"));
        process = options.required("process");
        all = Long.parseLong(options.required("all"));
        client = Clients.connect(port, process, Clients.DEFAULT_WATCHDOG, options.resp3());
    }

    /** A way to exclude others. */
    private interface Lock {
        void take() throws IOException;

        void giveBack() throws IOException;
    }

    /** See the class. */
    public static void main(String[] args) throws Exception {
        Options options = new Options(args);
        Shop shop = new Shop(options);
        int buyers = Integer.parseInt(options.required("buyers"));
        try {
            for (String kind : options.required("locks").split(",")) {
                shop.open(kind, buyers);
            }
        } catch (ExecutionException failed) {
            failed.getCause().printStackTrace();
            System.exit(1);
        } finally {
            shop.client.shutdown();
        }
    }

    /** Runs the buyers until nothing is left. */
    private void open(String kind, int buyers) throws InterruptedException, ExecutionException {
        List<FutureTask<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < buyers; i++) {
            int number = i;
            FutureTask<Void> task = new FutureTask<>(() -> buy(kind, number));
            tasks.add(task);
            Thread thread = new Thread(task, process + "-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        for (FutureTask<Void> task : tasks) {
            task.get();
        }
    }

    private Void buy(String kind, int number) throws Exception {
        try (Raw raw = new Raw(port, TIMEOUT_MILLIS)) {
            String name = "shop:" + kind;
            Lock lock = lock(kind, name + ":lock", number, raw);
            together(raw, name + ":ready");
            for (boolean first = true; ; first = false) {
                lock.take();
                long stock = Long.parseLong(raw.text("GET", name + ":stock"));
                if (first && kind.equals("none")) {
                    // The race that may happen without a lock is certain here: all read before one takes.
                    together(raw, name + ":looked");
                }
                if (stock > 0) {
                    raw.call("SET", name + ":stock", Long.toString(stock - 1));
                    raw.call("INCR", name + ":sold");
                }
                lock.giveBack();
                if (stock <= 0) {
                    return null;
                }
            }
        }
    }

    /** Waits until every buyer of every process has arrived here. */
    private void together(Raw raw, String counter) throws Exception {
        long come = raw.number("INCR", counter);
        for (long waited = 0; come < all; waited++) {
            Check.that(waited < TIMEOUT_MILLIS, "only " + come + " of " + all + " buyers came to " + counter);
            Thread.sleep(1);
            come = Long.parseLong(raw.text("GET", counter));
        }
    }

    private Lock lock(String kind, String name, int number, Raw raw) {
        String owner = process + ":" + number;
        switch (kind) {
            case "none":
                return lock(() -> {}, () -> {});
            case "set":
                return setLock(name, owner, raw);
            case "rlock":
                return redissonLock(name);
            case "native":
                return nativeLock(name, owner, raw);
            case "mixed":
                return number % 2 == 0 ? redissonLock(name) : nativeLock(name, owner, raw);
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    private static Lock setLock(String name, String owner, Raw raw) {
        return lock(
                () -> {
                    while (raw.call("SET", name, owner, "NX", "PX", LEASE_MILLIS) == null) {
                        Thread.yield();
                    }
                },
                () -> Check.equal(1L, raw.call("EVAL", COMPARE_AND_DELETE, "1", name, owner)));
    }

    private Lock redissonLock(String name) {
        RLock lock = client.getLock(name);
        return lock(() -> lock.lock(Long.parseLong(LEASE_MILLIS), TimeUnit.MILLISECONDS), lock::unlock);
    }

    private static Lock nativeLock(String name, String owner, Raw raw) {
        return lock(
                () -> {
                    Object grant = raw.call("LOCK.ACQUIRE", name, owner, "PX", LEASE_MILLIS, "BLOCK", LEASE_MILLIS);
                    Check.that(grant != null, "the lock is granted to " + owner);
                },
                () -> Check.equal(0L, raw.call("LOCK.RELEASE", name, owner)));
    }

    /** One half of a lock. */
    private interface Step {
        void run() throws IOException;
    }

    private static Lock lock(Step take, Step giveBack) {
        return new Lock() {
            @Override
            public void take() throws IOException {
                take.run();
            }

            @Override
            public void giveBack() throws IOException {
                giveBack.run();
            }
        };
    }
}
