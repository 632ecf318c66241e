"""The lock of redis-py."""

import sys

import redis
from steps import follow


class Library:
    def __init__(self, port, name, lease_millis):
        self.client = redis.Redis(port=port)
        self.name = name
        self.lease = lease_millis / 1000
        self.lock = None

    def take(self):
        lock = self.client.lock(self.name, timeout=self.lease, blocking=False)
        if not lock.acquire():
            return None
        self.lock = lock
        return lock.local.token.decode()

    def extend(self):
        return self.unless_lost(self.lock.reacquire)

    def release(self):
        return self.unless_lost(self.lock.release)

    @staticmethod
    def unless_lost(step):
        try:
            step()
            return True
        except redis.exceptions.LockNotOwnedError:
            return False


follow(Library(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
