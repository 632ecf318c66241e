package lockwheel;

import java.util.function.BiConsumer;
import org.redisson.Redisson;
import org.redisson.api.RBatch;
import org.redisson.api.RLock;
import org.redisson.api.RPatternTopic;
import org.redisson.api.RTopic;
import org.redisson.api.RedissonClient;

/** The code that was different before 3.10. */
final class Versions {
    private Versions() {}

    /** Listens to a channel; the returned action stops that. */
    static Runnable listen(RedissonClient client, String channel, BiConsumer<String, String> sink) {
        RTopic<String> topic = client.getTopic(channel);
        int id = topic.addListener((from, text) -> sink.accept(from, text));
        return () -> topic.removeListener(id);
    }

    /** Listens to the channels that match; the returned action stops that. */
    static Runnable listenToPattern(RedissonClient client, String pattern, BiConsumer<String, String> sink) {
        RPatternTopic<String> topic = client.getPatternTopic(pattern);
        int id = topic.addListener((matched, from, text) -> sink.accept(from, text));
        return () -> topic.removeListener(id);
    }

    /** Publishes a message, and returns the number of clients that got it. */
    static long publish(RedissonClient client, String channel, String text) {
        return client.<String>getTopic(channel).publish(text);
    }

    /** A batch that runs inside MULTI and EXEC. */
    static RBatch atomicBatch(RedissonClient client) {
        return client.createBatch().atomic();
    }

    /** The name of the client in the hashes of its locks. */
    static String id(RedissonClient client) {
        return ((Redisson) client).getConnectionManager().getId().toString();
    }

    /** Ends everybody's hold. Returns whether there was one, if the client reports it. */
    static Object forceUnlock(RLock lock) {
        lock.forceUnlock();
        return "";
    }

    /**
     * The configuration value for this number of retries: the first attempt is counted too, and with 0 nothing is sent.
     */
    static int retryAttempts(int retries) {
        return retries + 1;
    }
}
