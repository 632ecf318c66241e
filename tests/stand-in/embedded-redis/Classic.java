// it.ozimov:embedded-redis starts the program that its provider names for this system; its settings are written to a
// file.

import java.net.ServerSocket;
import redis.clients.jedis.Jedis;
import redis.embedded.RedisExecProvider;
import redis.embedded.RedisServer;
import redis.embedded.util.OS;

public class Classic {
    public static void main(String[] arguments) throws Exception {
        var provider = RedisExecProvider.defaultProvider().override(OS.UNIX, arguments[0]);
        int port;
        try (var free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        var plain = new RedisServer(provider, port);
        plain.start();
        try (var client = new Jedis("127.0.0.1", port)) {
            System.out.println("plain: " + client.ping() + ", active " + plain.isActive());
        }
        plain.stop();
        System.out.println("stopped: active " + plain.isActive());

        var guarded = RedisServer.builder()
            .redisExecProvider(provider)
            .port(port)
            .bind("127.0.0.1")
            .setting("requirepass secret")
            .setting("maxmemory 51200000")
            .setting("daemonize no")
            .setting("appendonly no")
            .build();
        guarded.start();
        try (var client = new Jedis("127.0.0.1", port)) {
            client.auth("secret");
            System.out.println("guarded: " + client.ping() + " with " + client.configGet("maxmemory"));
        }
        guarded.stop();
        System.out.println("stopped: active " + guarded.isActive());
    }
}
