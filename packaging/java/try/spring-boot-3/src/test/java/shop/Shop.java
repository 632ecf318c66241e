package shop;

import java.time.Duration;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Service;

/** An application that reserves wares for fifteen minutes. */
@SpringBootApplication
class Shop {
    @Service
    record Reservations(StringRedisTemplate redis) {
        boolean reserve(String ware, String customer) {
            return Boolean.TRUE.equals(
                    redis.opsForValue().setIfAbsent("reserved:" + ware, customer, Duration.ofMinutes(15)));
        }
    }
}
