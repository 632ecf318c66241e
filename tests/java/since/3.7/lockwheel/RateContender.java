package lockwheel;

import org.redisson.api.RRateLimiter;
import org.redisson.api.RedissonClient;

/** Permits of one rate: one member waits for them, the other asks again. */
public final class RateContender implements Contender {
    private final RRateLimiter limiter;

    /** Created by name. */
    public RateContender(RedissonClient client) {
        limiter = client.getRateLimiter("rate");
    }

    @Override
    public void turn(Referee referee, long turn) throws Exception {
        if (referee.member() % 2 == 0) {
            limiter.acquire();
        } else if (!limiter.tryAcquire()) {
            Thread.sleep(1);
            return;
        }
        referee.enter("alone");
    }
}
