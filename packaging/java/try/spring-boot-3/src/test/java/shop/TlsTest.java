package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

@SpringBootTest
@Lockwheel(args = {
    "--tls-port", "0", "--tls-auth-clients", "no", "--tls-ca-cert-file", "certificates/ca.crt",
    "--tls-cert-file", "certificates/server.crt", "--tls-key-file", "certificates/server.key",
})
class TlsTest {
    @Autowired
    private Shop.Reservations reservations;

    @Test
    void theApplicationTrustsTheServer(LockwheelServer server) {
        assertTrue(server.url().startsWith("rediss://"), server.url());
        assertTrue(reservations.reserve("chair", "ada"));
        assertEquals("ada", server.command("GET", "reserved:chair"));
    }
}
