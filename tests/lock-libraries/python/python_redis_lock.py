"""python-redis-lock."""

import sys

import redis
import redis_lock
from steps import follow


class Library:
    def __init__(self, port, name, lease_millis):
        self.client = redis.StrictRedis(port=port)
        self.name = name
        self.lease = lease_millis // 1000
        self.lock = None

    def take(self):
        lock = redis_lock.Lock(self.client, self.name, expire=self.lease)
        if not lock.acquire(blocking=False):
            return None
        self.lock = lock
        return lock.id

    def extend(self):
        return self.unless_lost(self.lock.extend)

    def release(self):
        return self.unless_lost(self.lock.release)

    @staticmethod
    def unless_lost(step):
        try:
            step()
            return True
        except redis_lock.NotAcquired:
            return False


follow(Library(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
