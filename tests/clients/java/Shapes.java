import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.UnifiedJedis;

/**
 * The clients of Jedis and Lettuce for clusters and for masters that sentinels name. {@code Shapes (jedis | lettuce)
 * (cluster | sentinel) PORT...} sets and gets what each line of its input says, and answers with a line.
 */
public final class Shapes {
    private static BinaryOperator<String> set;
    private static UnaryOperator<String> get;

    public static void main(String[] args) throws Exception {
        List<Integer> ports = Arrays.stream(args).skip(2).map(Integer::parseInt).toList();
        boolean isCluster = args[1].equals("cluster");
        if (args[0].equals("jedis")) {
            jedis(isCluster, ports);
        } else {
            lettuce(isCluster, ports);
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line.split(" ")));
        }
        System.exit(0);
    }

    private static String answer(String[] words) {
        try {
            String reply = words[0].equals("set") ? set.apply(words[1], words[2]) : get.apply(words[1]);
            return reply == null ? "nothing" : reply;
        } catch (RuntimeException failed) {
            return "failed " + failed.toString().replaceAll("\\s+", " ");
        }
    }

    private static void jedis(boolean isCluster, List<Integer> ports) {
        Set<HostAndPort> nodes = new HashSet<>();
        ports.forEach(port -> nodes.add(new HostAndPort("127.0.0.1", port)));
        UnifiedJedis client = isCluster
                ? redis.clients.jedis.RedisClusterClient.builder().nodes(nodes).build()
                : redis.clients.jedis.RedisSentinelClient.builder().masterName("m").sentinels(nodes).build();
        set = client::set;
        get = client::get;
    }

    private static void lettuce(boolean isCluster, List<Integer> ports) {
        if (isCluster) {
            List<RedisURI> nodes = ports.stream().map(port -> RedisURI.create("127.0.0.1", port)).toList();
            RedisClusterClient client = RedisClusterClient.create(nodes);
            var refresh = ClusterTopologyRefreshOptions.builder().enableAllAdaptiveRefreshTriggers().build();
            client.setOptions(ClusterClientOptions.builder().topologyRefreshOptions(refresh).build());
            var commands = client.connect().sync();
            set = commands::set;
            get = commands::get;
        } else {
            var address = RedisURI.Builder.sentinel("127.0.0.1", ports.get(0), "m");
            ports.stream().skip(1).forEach(port -> address.withSentinel("127.0.0.1", port));
            var commands = RedisClient.create(address.build()).connect().sync();
            set = commands::set;
            get = commands::get;
        }
    }
}
