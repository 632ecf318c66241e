package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import java.time.Duration;
import org.junit.jupiter.api.RepeatedTest;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;

@SpringBootTest
@Lockwheel
class ReservationTest {
    @Autowired
    private Shop.Reservations reservations;

    @Value("${spring.data.redis.url}")
    private String url;

    @RepeatedTest(2)
    void aReservationEndsAfterAQuarterOfAnHour(LockwheelServer server) {
        assertEquals(server.url(), url);
        server.clock().freeze();
        assertTrue(reservations.reserve("chair", "ada"));
        server.clock().advance(Duration.ofMinutes(15).minusMillis(1));
        assertFalse(reservations.reserve("chair", "grace"));
        server.clock().advance(Duration.ofMillis(1));
        assertTrue(reservations.reserve("chair", "grace"));
    }
}
