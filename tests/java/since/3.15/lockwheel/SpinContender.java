package lockwheel;

import org.redisson.api.RedissonClient;

/** The lock whose waiters poll. */
public final class SpinContender implements Contender {
    private final Contender locked;

    /** Created by name. */
    public SpinContender(RedissonClient client) {
        locked = Contenders.locked(client.getSpinLock("spin"));
    }

    @Override
    public void turn(Referee referee, long turn) throws Exception {
        locked.turn(referee, turn);
    }
}
