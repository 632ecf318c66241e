"""redis-py's cache on the client's side, and invalidations redirected to another connection. `tracking.py PORT`."""

import sys

import redis
from redis.cache import CacheConfig
from redis.connection import CacheProxyConnection

# It asks for 7.4 "to maximize compatibility"; what it uses is that of 6.0.
CacheProxyConnection.MIN_ALLOWED_VERSION = "6.0.0"
port = int(sys.argv[1])
cached = redis.Redis(port=port, protocol=3, cache_config=CacheConfig(), decode_responses=True)
other = redis.Redis(port=port, protocol=2, decode_responses=True)
cache = cached.get_cache()


def shown(when):
    # What it is told comes before the answer.
    cached.ping()
    print(when, cached.get("k"), sorted(cached.hgetall("h").items()), cached.mget("k", "j"), cache.size)


shown("missing")
cached.set("k", "own")
shown("own")
other.set("k", "others")
other.hset("h", "f", "v")
shown("others'")
shown("from the cache")
other.expire("k", 1000)
shown("expires")
other.delete("k", "h")
shown("deleted")
with other.pipeline(transaction=True) as pipeline:
    pipeline.set("k", "1").set("j", "2").execute()
shown("transaction")
other.eval("redis.call('set', KEYS[1], ARGV[1])", 1, "k", "by a script")
shown("script")
other.flushall()
shown("flushed")
other.set("k", "last")
shown("again")
print("clients", other.info("clients")["tracking_clients"])

# The way of RESP2: a connection that is subscribed is told instead.
listening = redis.Redis(port=port, protocol=2, decode_responses=True, single_connection_client=True)
told = listening.pubsub()
told.subscribe("__redis__:invalidate")
print("subscribed", told.get_message(timeout=10))
number = [client["id"] for client in other.client_list() if client["sub"] == "1"][0]
reader = redis.Redis(port=port, protocol=2, decode_responses=True, single_connection_client=True)
print("redirect", reader.execute_command("CLIENT", "TRACKING", "ON", "REDIRECT", number))
print(reader.get("k"), reader.get("j"))
other.mset({"k": "new", "j": "new", "i": "new"})
for _ in range(2):
    print("told", told.get_message(timeout=10))
other.flushall()
print("told", told.get_message(timeout=10))
print("off", reader.execute_command("CLIENT", "TRACKING", "OFF"))
print("broadcast", reader.execute_command("CLIENT", "TRACKING", "ON", "REDIRECT", number, "BCAST", "PREFIX", "user:"))
other.mset({"user:2": 1, "user:1": 1, "group:1": 1})
print("told", told.get_message(timeout=10))
