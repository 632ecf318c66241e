package lockwheel;

import java.util.function.BiConsumer;
import org.redisson.api.BatchOptions;
import org.redisson.api.RBatch;
import org.redisson.api.RLock;
import org.redisson.api.RPatternTopic;
import org.redisson.api.RTopic;
import org.redisson.api.RedissonClient;

/** What is written differently since 3.10. */
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

    /** Publishes, and says how many clients got it. */
    static long publish(RedissonClient client, String channel, String text) {
        return client.getTopic(channel).publish(text);
    }

    /** A batch that runs inside MULTI and EXEC. */
    static RBatch atomicBatch(RedissonClient client) {
        return client.createBatch(
                BatchOptions.defaults().executionMode(BatchOptions.ExecutionMode.REDIS_WRITE_ATOMIC));
    }

    /** What the client is called in the hashes of its locks. */
    static String id(RedissonClient client) {
        return client.getId();
    }

    /** Ends everybody's hold; whether there was one, where the client says so. */
    static Object forceUnlock(RLock lock) {
        return lock.forceUnlock();
    }

    /** What is configured for so many retries. */
    static int retryAttempts(int retries) {
        return retries;
    }
}
