import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lockwheel.Level;
import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@Lockwheel(seed = 42, args = {"--requirepass", "s p:@"}, verify = Level.VIOLATION)
class OrderTest {
    private LockwheelServer server;
    private RedisClient client;

    private StatefulRedisConnection<String, String> connection() {
        client = RedisClient.create(server.url());
        return client.connect();
    }

    @AfterEach
    void shutDown() {
        client.shutdown();
    }

    @Test
    void aPriceIsForgottenAfterAnHour() {
        var redis = connection().sync();
        redis.setex("price:7", 3600, "12.50");
        server.clock().advance(Duration.ofMinutes(59));
        assertEquals("12.50", redis.get("price:7"));
        server.clock().advance(Duration.ofMinutes(1));
        assertNull(redis.get("price:7"));
    }

    /** On purpose: to see what is told of it. */
    @Test
    void fails() {
        var waiting = connection();
        waiting.sync().clientSetname("who-waits");
        waiting.async().blpop(0, "list");
        server.await().blocked(1);
        server.command("SET", "order:42", "paid");
        assertEquals("cancelled", server.command("GET", "order:42"));
    }

    /** On purpose too: what is wrong in the history fails it. */
    @Test
    void overlaps() {
        connection();
        server.history().enter("order:42", "first");
        server.history().enter("order:42", "second");
    }
}
