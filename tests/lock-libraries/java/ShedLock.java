import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Scanner;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * ShedLock, over Spring Data Redis. Arguments: the port, the lock's name, its lease in milliseconds. Reads steps, one a
 * line, and prints the result of each.
 */
public final class ShedLock {
    private ShedLock() {}

    /** See the class. */
    public static void main(String[] args) {
        LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(args[0]));
        connections.afterPropertiesSet();
        connections.start();
        RedisLockProvider provider = new RedisLockProvider(connections);
        Duration lease = Duration.ofMillis(Long.parseLong(args[2]));
        SimpleLock held = null;
        for (Scanner steps = new Scanner(System.in); steps.hasNextLine(); ) {
            switch (steps.nextLine()) {
                case "take":
                    LockConfiguration asked = new LockConfiguration(Instant.now(), args[1], lease, Duration.ZERO);
                    Optional<SimpleLock> lock = provider.lock(asked);
                    held = lock.orElse(held);
                    // The library does not tell the value that it wrote.
                    System.out.println(lock.isPresent() ? "held ?" : "refused");
                    break;
                case "extend":
                    Optional<SimpleLock> extended = held.extend(lease, Duration.ZERO);
                    held = extended.orElse(held);
                    System.out.println(extended.isPresent() ? "done" : "lost");
                    break;
                default:
                    // The library does not report the result.
                    held.unlock();
                    System.out.println("done");
            }
        }
        System.exit(0);
    }
}
