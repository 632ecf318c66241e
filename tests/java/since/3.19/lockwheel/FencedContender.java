package lockwheel;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;

/** The lock whose holders have increasing tokens. */
public final class FencedContender implements Contender {
    private final RFencedLock lock;

    /** Created by name. */
    public FencedContender(RedissonClient client) {
        lock = client.getFencedLock("fenced");
    }

    @Override
    public void turn(Referee referee, long turn) throws Exception {
        // In 3.24, lockAndGetToken can miss a message between its attempt and its subscription, and has no lease of its
        // own.
        lock.lock(Scene.NEVER, TimeUnit.MILLISECONDS);
        referee.enter("token " + lock.getToken());
        referee.leave();
        lock.unlock();
    }
}
