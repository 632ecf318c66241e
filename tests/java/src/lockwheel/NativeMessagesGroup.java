package lockwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;

/** The messages of native commands equal Redisson's for the same action, word for word. */
final class NativeMessagesGroup implements Groups.Group {
    private static final String OWNER = "native";

    private static final String LEASE = Long.toString(Scene.NEVER);

    /**
     * The end mark of the messages. It is a number, as all messages of these channels: a client that still listens
     * could not decode another text, and would lose later messages on the same connection. No regular message has this
     * number.
     */
    private static final String END = "9";

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("native-messages.lock", NativeMessagesGroup::lock));
        scenarios.add(new Scenario("native-messages.read-write", NativeMessagesGroup::readWrite));
        scenarios.add(new Scenario("native-messages.fair", NativeMessagesGroup::fair));
        scenarios.add(new Scenario("native-messages.semaphore", NativeMessagesGroup::semaphore));
        scenarios.add(new Scenario("native-messages.permits", NativeMessagesGroup::permits));
        scenarios.add(new Scenario("native-messages.latch", NativeMessagesGroup::latch));
    }

    /** An action that may publish a message. */
    private interface Deed {
        void happen() throws Throwable;
    }

    /** Returns the messages of a channel during this action, in order. */
    private static List<String> heard(Scene scene, String channel, Deed deed) throws Throwable {
        Raw listener = scene.raw();
        listener.call("SUBSCRIBE", channel);
        deed.happen();
        scene.raw().call("PUBLISH", channel, END);
        List<String> messages = new ArrayList<>();
        for (String message = message(listener); !message.equals(END); message = message(listener)) {
            messages.add(message);
        }
        return messages;
    }

    private static String message(Raw listener) throws Throwable {
        return (String) ((List<?>) listener.read()).get(2);
    }

    /** Requires this message of both sides. In a cluster, newer versions notify only subscribers at the slot's node. */
    private static void check(Scene scene, List<String> expected, String channel, Deed ofRedisson, Deed ofNative)
            throws Throwable {
        List<List<String>> told = List.of(heard(scene, channel, ofRedisson), heard(scene, channel, ofNative));
        if (!scene.inCluster()) {
            Check.equal(List.of(expected, expected), told);
        }
    }

    private static void lock(Scene scene) throws Throwable {
        RLock lock = scene.a().getLock(scene.name());
        Raw raw = scene.raw();
        Deed taken = () -> raw.map("LOCK.ACQUIRE", scene.name(), OWNER, "PX", LEASE);
        String channel = "redisson_lock__channel:{" + scene.name() + "}";
        check(scene, List.of("0"), channel, () -> {
            lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            lock.unlock();
            lock.unlock();
        }, () -> {
            taken.happen();
            taken.happen();
            raw.call("LOCK.RELEASE", scene.name(), OWNER);
            Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), OWNER));
        });
        check(scene, List.of("0"), channel, () -> {
            lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            scene.b().getLock(scene.name()).forceUnlock();
        }, () -> {
            taken.happen();
            raw.call("LOCK.FORCEUNLOCK", scene.name());
        });
    }

    /** 3.6.5 also publishes 0 for a writer. */
    private static void readWrite(Scene scene) throws Throwable {
        RReadWriteLock lock = scene.a().getReadWriteLock(scene.name());
        Raw raw = scene.raw();
        String channel = "redisson_rwlock:{" + scene.name() + "}";
        Deed reads = () -> {
            lock.readLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            lock.readLock().unlock();
        };
        Deed writes = () -> {
            lock.writeLock().lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            lock.writeLock().unlock();
        };
        check(scene, List.of("0"), channel, reads, () -> {
            raw.map("LOCK.ACQUIRE", scene.name(), OWNER, "SHARED", "PX", LEASE);
            Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), OWNER));
        });
        Deed writesNatively = () -> {
            raw.map("LOCK.ACQUIRE", scene.name(), OWNER, "EXCLUSIVE", "PX", LEASE);
            Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), OWNER));
        };
        List<String> told = heard(scene, channel, writes);
        if (scene.inCluster() || told.equals(List.of("0"))) {
            told = List.of("1");
        }
        Check.equal(List.of(List.of("1"), List.of("1")), List.of(told, heard(scene, channel, writesNatively)));
    }

    /** The next owner in the queue is notified, by its own channel. */
    private static void fair(Scene scene) throws Throwable {
        RLock holder = scene.a().getFairLock(scene.name());
        Raw raw = scene.raw();
        List<List<String>> told = new ArrayList<>();
        for (boolean isNative : List.of(false, true)) {
            if (isNative) {
                raw.map("LOCK.ACQUIRE", scene.name(), OWNER, "FAIR", "PX", LEASE);
            } else {
                holder.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
            }
            Task<Boolean> next = scene.start(() -> {
                RLock lock = scene.b().getFairLock(scene.name());
                lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
                lock.unlock();
                return true;
            });
            next.untilItWaitsForAMessage();
            String owner = raw.texts("LRANGE", "redisson_lock_queue:{" + scene.name() + "}", "0", "-1").get(0);
            told.add(heard(scene, "redisson_lock__channel:{" + scene.name() + "}:" + owner, () -> {
                if (isNative) {
                    Check.equal(0L, raw.call("LOCK.RELEASE", scene.name(), OWNER));
                } else {
                    holder.unlock();
                }
            }));
            Check.that(next.get(), "the next one has had it");
        }
        if (!scene.inCluster()) {
            Check.equal(List.of(List.of("0"), List.of("0")), told);
        }
    }

    private static void semaphore(Scene scene) throws Throwable {
        RSemaphore semaphore = scene.a().getSemaphore(scene.name());
        Raw raw = scene.raw();
        semaphore.trySetPermits(3);
        check(scene, List.of("3"), "redisson_sc:{" + scene.name() + "}", () -> {
            semaphore.acquire(2);
            semaphore.release(2);
        }, () -> {
            raw.map("SEM.ACQUIRE", scene.name(), OWNER, "PERMITS", "2");
            Check.equal(3L, raw.call("SEM.RELEASE", scene.name(), OWNER, "PERMITS", "2"));
        });
    }

    private static void permits(Scene scene) throws Throwable {
        RPermitExpirableSemaphore semaphore = scene.a().getPermitExpirableSemaphore(scene.name());
        Raw raw = scene.raw();
        semaphore.trySetPermits(2);
        check(scene, List.of("2"), "redisson_sc:{" + scene.name() + "}", () -> {
            semaphore.release(semaphore.acquire(Scene.NEVER, TimeUnit.MILLISECONDS));
        }, () -> {
            Object ids = raw.map("SEM.ACQUIRE", scene.name(), OWNER, "IDS", "PX", LEASE).get("ids");
            String id = (String) ((List<?>) ids).get(0);
            Check.equal(2L, raw.call("SEM.RELEASE", scene.name(), OWNER, "ID", id));
        });
    }

    private static void latch(Scene scene) throws Throwable {
        RCountDownLatch latch = scene.a().getCountDownLatch(scene.name());
        Raw raw = scene.raw();
        check(scene, List.of("1", "0"), "redisson_countdownlatch__channel__{" + scene.name() + "}", () -> {
            Check.that(latch.trySetCount(2), "it is new");
            latch.countDown();
            latch.countDown();
        }, () -> {
            Check.equal(1L, raw.call("LATCH.SET", scene.name(), "2"));
            raw.call("LATCH.COUNTDOWN", scene.name());
            Check.equal(0L, raw.call("LATCH.COUNTDOWN", scene.name()));
        });
    }
}
