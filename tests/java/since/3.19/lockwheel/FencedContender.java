package lockwheel;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;

/** The lock whose holders have tokens that rise. */
public final class FencedContender implements Contender {
    private final RFencedLock lock;

    /** Made by name. */
    public FencedContender(RedissonClient client) {
        lock = client.getFencedLock("fenced");
    }

    @Override
    public void turn(Referee referee, long turn) throws Exception {
        // lockAndGetToken can miss a message in 3.24, between its try and its listening, and has no lease of its own.
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        referee.enter("token " + lock.getToken());
        referee.leave();
        lock.unlock();
    }
}
