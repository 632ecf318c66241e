package lockwheel;

import java.util.function.BiConsumer;
import org.redisson.api.BatchOptions;
import org.redisson.api.RBatch;
import org.redisson.api.RLock;
import org.redisson.api.RPatternTopic;
import org.redisson.api.RTopic;
import org.redisson.api.RedissonClient;

/** The code that is different since 3.10. */
final class Versions {
    private Versions() {}

    /** Listens to a channel; the returned action stops that. */
    static Runnable listen(RedissonClient client, String channel, BiConsumer<String, String> sink) {
        RTopic topic = client.getTopic(channel);
        int id = topic.addListener(String.class, (from, text) -> sink.accept(from.toString(), text));
        return () -> topic.removeListener(id);
    }

    /** Listens to the channels that match; the returned action stops that. */
    static Runnable listenToPattern(RedissonClient client, String pattern, BiConsumer<String, String> sink) {
        RPatternTopic topic = client.getPatternTopic(pattern);
        int id = topic.addListener(
                String.class, (matched, from, text) -> sink.accept(from.toString(), text));
        return () -> topic.removeListener(id);
    }

    /** Publishes a message, and returns the number of clients that got it. */
    static long publish(RedissonClient client, String channel, String text) {
        return client.getTopic(channel).publish(text);
    }

    /** A batch that runs inside MULTI and EXEC. */
    static RBatch atomicBatch(RedissonClient client) {
        return client.createBatch(
                BatchOptions.defaults().executionMode(BatchOptions.ExecutionMode.REDIS_WRITE_ATOMIC));
    }

    /** The name of the client in the hashes of its locks. */
    static String id(RedissonClient client) {
        return client.getId();
    }

    /** Ends everybody's hold. Returns whether there was one, if the client reports it. */
    static Object forceUnlock(RLock lock) {
        return lock.forceUnlock();
    }

    /** The configuration value for this number of retries. */
    static int retryAttempts(int retries) {
        return retries;
    }
}
