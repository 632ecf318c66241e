package lockwheel;

import org.redisson.api.RedissonClient;

/** The lock that asks again and again. */
public final class SpinContender implements Contender {
    private final Contender locked;

    /** Made by name. */
    public SpinContender(RedissonClient client) {
        locked = Contenders.locked(client.getSpinLock("spin"));
    }

    @Override
    public void turn(Referee referee, long turn) throws Exception {
        locked.turn(referee, turn);
    }
}
