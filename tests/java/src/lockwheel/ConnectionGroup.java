package lockwheel;

import java.util.List;
import org.redisson.api.RedissonClient;

/** The connection and disconnection of a client. */
final class ConnectionGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("connection.single-server", ConnectionGroup::singleServer));
    }

    /** The client's name is set on its connections, it works, and its connections are gone when it shuts down. */
    private static void singleServer(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        String clientName = "comes-and-goes";
        String marker = " name=" + clientName + " ";
        RedissonClient client =
                Clients.connect(scene.options().ports().get(0), clientName, Clients.DEFAULT_WATCHDOG, scene.options());
        String protocol = scene.options().resp3() ? " resp=3" : " resp=2";
        List<String> own = raw.text("CLIENT", "LIST").lines().filter(line -> line.contains(marker)).toList();
        Check.that(!own.isEmpty(), "the client has set its name");
        Check.that(own.stream().allMatch(line -> line.contains(protocol)), "all speak" + protocol + ": " + own);
        client.getBucket(scene.name()).set("here");
        Check.equal("here", raw.text("GET", scene.name()));
        client.shutdown();
        Check.that(client.isShutdown(), "it is shut down");
        scene.until("its connections are gone", () -> !raw.text("CLIENT", "LIST").contains(marker));
    }
}
