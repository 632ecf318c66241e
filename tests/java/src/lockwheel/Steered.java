package lockwheel;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/**
 * Performs the calls that the lines of its standard input describe on the client's locks, and prints the results on
 * standard output. It ends at the end of its input. A line is
 *
 * <pre>
 * ID CLIENT THREAD VERB [ARGUMENT...]
 * </pre>
 *
 * and its answer {@code ID ok RESULT} or {@code ID failed EXCEPTION: MESSAGE}, followed by the causes. Clients and
 * threads have names. A thread performs its calls in order, and threads do not wait for each other. The verbs:
 *
 * <pre>
 * connect NAME PLACE WATCHDOG-MILLIS TIMEOUT-MILLIS RETRIES REPLICAS
 * shutdown
 * interrupt THREAD                            another one of this client
 * owner                                       the name of the thread in a lock's hash
 * lock LOCK [LEASE-MILLIS]                    without a lease the watchdog renews it
 * lock-interruptibly LOCK LEASE-MILLIS
 * try-lock LOCK WAIT-MILLIS LEASE-MILLIS      the answer is true or false
 * unlock LOCK, force-unlock LOCK
 * held LOCK, holds LOCK                       by this thread: whether, how often
 * fair-VERB LOCK [ARGUMENT...]                any of these with the fair lock of that name
 * acquire SEMAPHORE, release SEMAPHORE        a permit
 * fenced-lock LOCK WAIT-MILLIS LEASE-MILLIS   the answer is the token; since 3.19
 * fenced-unlock LOCK
 * red-try-lock LOCK WAIT-MILLIS LEASE-MILLIS CLIENT...   a lock of the same name by each client: whether a majority has it
 * red-unlock LOCK CLIENT...
 * </pre>
 *
 * A place is a {@code PORT}, or {@code PORT,REPLICA...}, {@code sentinel:PORT,MASTER} with that sentinel's name of the
 * master, {@code cluster:PORT...}, or {@code replicated:PORT...} of servers that report their roles in INFO.
 * Replicas are {@code unused}; {@code asked} whether they have a lock, which is granted whatever they answer; or {@code
 * heeded}.
 */
public final class Steered {
    private static final String FAIR = "fair-";

    /** The prefix before the port of a sentinel. */
    private static final String SENTINEL = "sentinel:";

    /** The prefix before the ports of the nodes of a cluster. */
    private static final String CLUSTER = "cluster:";

    /** The prefix before the ports of a master and its replicas, in any order. */
    private static final String REPLICATED = "replicated:";

    /** The word for a client that does not use replicas. */
    private static final String UNUSED = "unused";

    /** The word for a client whose locks fail if no replica has acknowledged them. */
    private static final String HEEDED = "heeded";

    private final Map<String, RedissonClient> clients = new ConcurrentHashMap<>();
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private final Map<String, Thread> started = new ConcurrentHashMap<>();

    private Steered() {}

    /** See the class. */
    public static void main(String[] args) throws IOException {
        Steered steered = new Steered();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            steered.accept(line.split(" "));
        }
        // Exits without waiting for threads that still wait for a lock.
        Runtime.getRuntime().halt(0);
    }

    private void accept(String[] words) {
        String id = words[0];
        String client = words[1];
        ExecutorService thread = threads.computeIfAbsent(client + " " + words[2], this::thread);
        String[] arguments = Arrays.copyOfRange(words, 4, words.length);
        thread.execute(() -> say(id + " " + answer(client, words[3], arguments)));
    }

    private ExecutorService thread(String name) {
        return Executors.newSingleThreadExecutor(work -> {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            started.put(name, thread);
            return thread;
        });
    }

    private String answer(String client, String verb, String[] arguments) {
        try {
            return "ok " + act(client, verb, arguments);
        } catch (Throwable thrown) {
            return "failed " + causes(thrown).replaceAll("\\s+", " ");
        }
    }

    /** Describes an exception, and its causes. */
    private static String causes(Throwable thrown) {
        return thrown.getCause() == null ? thrown.toString() : thrown + " < " + causes(thrown.getCause());
    }

    private Object act(String name, String verb, String[] arguments) throws Exception {
        if (verb.equals("connect")) {
            clients.put(name, connect(arguments));
            return "";
        }
        RedissonClient client = clients.get(name);
        switch (verb) {
            case "interrupt":
                started.get(name + " " + arguments[0]).interrupt();
                return "";
            case "shutdown":
                client.shutdown(0, 0, TimeUnit.MILLISECONDS);
                return "";
            case "owner":
                return Versions.id(client) + ":" + Thread.currentThread().getId();
            case "fenced-lock":
                return token(fencedLock(client, arguments[0]), number(arguments[1]), number(arguments[2]));
            case "fenced-unlock":
                return act(fencedLock(client, arguments[0]), "unlock", arguments);
            case "acquire":
                client.getSemaphore(arguments[0]).acquire();
                return "";
            case "release":
                client.getSemaphore(arguments[0]).release();
                return "";
            case "red-try-lock":
                return redLock(arguments, 3).tryLock(number(arguments[1]), number(arguments[2]), TimeUnit.MILLISECONDS);
            case "red-unlock":
                redLock(arguments, 1).unlock();
                return "";
            default:
                return verb.startsWith(FAIR)
                        ? act(client.getFairLock(arguments[0]), verb.substring(FAIR.length()), arguments)
                        : act(client.getLock(arguments[0]), verb, arguments);
        }
    }

    /** The locks of all clients whose names follow from an argument on. */
    @SuppressWarnings("deprecation") // It is deprecated in newer versions and still used.
    private RedissonRedLock redLock(String[] arguments, int from) {
        RLock[] locks = Arrays.stream(arguments, from, arguments.length)
                .map(name -> clients.get(name).getLock(arguments[0]))
                .toArray(RLock[]::new);
        return new RedissonRedLock(locks);
    }

    private static Object act(RLock lock, String verb, String[] arguments) throws InterruptedException {
        switch (verb) {
            case "lock":
                if (arguments.length == 1) {
                    lock.lock();
                } else {
                    lock.lock(number(arguments[1]), TimeUnit.MILLISECONDS);
                }
                return "";
            case "lock-interruptibly":
                lock.lockInterruptibly(number(arguments[1]), TimeUnit.MILLISECONDS);
                return "";
            case "try-lock":
                return lock.tryLock(number(arguments[1]), number(arguments[2]), TimeUnit.MILLISECONDS);
            case "unlock":
                lock.unlock();
                return "";
            case "force-unlock":
                return Versions.forceUnlock(lock);
            case "held":
                return lock.isHeldByCurrentThread();
            case "holds":
                return lock.getHoldCount();
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    /**
     * Takes the lock and returns the token. {@code lockAndGetToken} would need no wait, but ignores the lease, as of
     * 4.7.0.
     */
    private static Object token(RLock lock, long wait, long lease) throws ReflectiveOperationException {
        return Class.forName("org.redisson.api.RFencedLock")
                .getMethod("tryLockAndGetToken", long.class, long.class, TimeUnit.class)
                .invoke(lock, wait, lease, TimeUnit.MILLISECONDS);
    }

    /** {@code client.getFencedLock(name)}, which only versions since 3.19 have. */
    private static RLock fencedLock(RedissonClient client, String name) throws ReflectiveOperationException {
        return (RLock) RedissonClient.class.getMethod("getFencedLock", String.class).invoke(client, name);
    }

    /** Uses the minimum of threads and connections, because CI has few cores. */
    private static RedissonClient connect(String[] arguments) {
        Config config = new Config();
        if (!arguments[5].equals(HEEDED)) {
            Shapes.bearsFailover(config);
        }
        config.setThreads(2);
        config.setNettyThreads(1);
        config.setLockWatchdogTimeout(number(arguments[2]));
        if (arguments[1].startsWith(SENTINEL)) {
            useSentinel(config, arguments[1].substring(SENTINEL.length()).split(","), arguments);
            return Redisson.create(config);
        }
        if (arguments[1].startsWith(CLUSTER)) {
            useCluster(config, arguments[1].substring(CLUSTER.length()).split(","), arguments);
            return Redisson.create(config);
        }
        if (arguments[1].startsWith(REPLICATED)) {
            useReplicated(config, arguments[1].substring(REPLICATED.length()).split(","), arguments);
            return Redisson.create(config);
        }
        String[] ports = arguments[1].split(",");
        if (ports.length > 1) {
            useReplicas(config, ports, arguments);
            return Redisson.create(config);
        }
        config.useSingleServer()
                .setAddress("redis://127.0.0.1:" + ports[0])
                .setClientName(arguments[0])
                .setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(8)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(2)
                .setTimeout((int) number(arguments[3]))
                .setConnectTimeout(20_000)
                .setRetryAttempts(Versions.retryAttempts((int) number(arguments[4])));
        return Redisson.create(config);
    }

    private static void useReplicas(Config config, String[] ports, String[] arguments) {
        var servers = config.useMasterSlaveServers().setMasterAddress("redis://127.0.0.1:" + ports[0]);
        Arrays.stream(ports).skip(1).forEach(port -> servers.addSlaveAddress("redis://127.0.0.1:" + port));
        few(servers, arguments);
    }

    /** The sentinel names the others. */
    private static void useSentinel(Config config, String[] place, String[] arguments) {
        var servers = config.useSentinelServers().setMasterName(place[1]).setScanInterval(500);
        few(servers.addSentinelAddress("redis://127.0.0.1:" + place[0]), arguments);
    }

    private static void useCluster(Config config, String[] ports, String[] arguments) {
        var servers = config.useClusterServers().setScanInterval(500);
        Arrays.stream(ports).forEach(port -> servers.addNodeAddress("redis://127.0.0.1:" + port));
        few(servers, arguments);
    }

    /** The client asks at its default interval which of the servers is the master. */
    private static void useReplicated(Config config, String[] ports, String[] arguments) {
        var servers = config.useReplicatedServers();
        Arrays.stream(ports).forEach(port -> servers.addNodeAddress("redis://127.0.0.1:" + port));
        few(servers, arguments);
    }

    /** If replicas are not used, reads go to the master; older versions do not wait for replicas then. */
    private static <T extends BaseMasterSlaveServersConfig<T>> void few(T servers, String[] arguments) {
        if (arguments[5].equals(UNUSED)) {
            servers.setReadMode(ReadMode.MASTER);
        }
        servers.setClientName(arguments[0])
                .setMasterConnectionMinimumIdleSize(1)
                .setMasterConnectionPoolSize(8)
                .setSlaveConnectionMinimumIdleSize(1)
                .setSlaveConnectionPoolSize(8)
                .setSubscriptionConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionPoolSize(2)
                .setTimeout((int) number(arguments[3]))
                .setConnectTimeout(20_000)
                .setRetryAttempts(Versions.retryAttempts((int) number(arguments[4])));
    }

    private static long number(String text) {
        return Long.parseLong(text);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
