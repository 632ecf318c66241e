import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import org.junit.jupiter.api.Test;
import org.redisson.Redisson;

@Lockwheel(args = {
    "--tls-port", "0", "--tls-auth-clients", "no", "--tls-ca-cert-file", "certificates/ca.crt",
    "--tls-cert-file", "certificates/server.crt", "--tls-key-file", "certificates/server.key",
    "--requirepass", "s p:@",
})
class TlsTest {
    @Test
    void redissonTrustsTheServerAndKnowsThePassword(LockwheelServer server) {
        var redisson = Redisson.create(server.redissonConfig());
        assertTrue(redisson.getLock("order:42").tryLock());
        redisson.shutdown();
    }
}
