// com.github.codemonstur:embedded-redis starts the program at a given path.

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import redis.clients.jedis.Jedis;
import redis.embedded.RedisServer;

public class Maintained {
    public static void main(String[] arguments) throws Exception {
        var program = new File(arguments[0]);
        int port;
        try (var free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        var plain = new RedisServer(port, program);
        plain.start();
        System.out.println("plain: " + ping(port, null) + ", active " + plain.isActive());
        var second = RedisServer.newRedisServer().executableProvider(() -> program).port(port).build();
        try {
            second.start();
            System.out.println("two servers on one port");
        } catch (IOException error) {
            System.out.println("the port is taken: " + error.getMessage());
        }
        plain.stop();
        System.out.println("stopped: active " + plain.isActive());

        var said = new StringBuffer();
        var guarded = RedisServer.newRedisServer()
            .executableProvider(() -> program)
            .port(port)
            .bind("127.0.0.1")
            .setting("requirepass s\u00e9cret")
            .setting("maxmemory 64mb")
            .setting("save \"\"")
            .soutListener(line -> said.append(line).append('\n'))
            .build();
        guarded.start();
        System.out.println("guarded: " + ping(port, "s\u00e9cret"));
        System.out.println("it said so: " + said.toString().toLowerCase().contains("ready to accept connections"));
        guarded.stop();
        guarded.start();
        System.out.println("again: " + ping(port, "s\u00e9cret"));
        guarded.stop();
    }

    static String ping(int port, String password) {
        try (var client = new Jedis("127.0.0.1", port)) {
            if (password == null) return client.ping();
            String refused;
            try {
                refused = client.ping();
            } catch (redis.clients.jedis.exceptions.JedisDataException error) {
                refused = error.getMessage();
            }
            client.auth(password);
            return refused + " then " + client.ping() + " with " + client.configGet("maxmemory");
        }
    }
}
