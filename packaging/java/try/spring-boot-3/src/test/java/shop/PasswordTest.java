package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;

@SpringBootTest
@Lockwheel(args = {"--requirepass", "s p:@"})
class PasswordTest {
    @Autowired
    private Shop.Reservations reservations;

    @Test
    void theApplicationKnowsThePassword(LockwheelServer server) {
        assertTrue(reservations.reserve("chair", "ada"));
        assertEquals("ada", server.command("GET", "reserved:chair"));
    }
}
