import io.lockwheel.LockwheelServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import redis.clients.jedis.RedisClient;

/** What the tests of both forks do. */
final class Counted {
    private Counted() {}

    /** How often a server was used since its reset; its port is left where the caller of Maven finds it. */
    static String turns(LockwheelServer server) throws IOException {
        Path servers = Files.createDirectories(Path.of("target", "servers"));
        Files.writeString(servers.resolve(ProcessHandle.current().pid() + "-" + server.port()), "");
        try (RedisClient client = RedisClient.create(server.url())) {
            String before = client.get("turns");
            client.incr("turns");
            return before == null ? "0" : before;
        }
    }
}
