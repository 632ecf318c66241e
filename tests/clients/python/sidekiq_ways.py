"""The commands that Sidekiq sends: enqueueing, fetching, scheduling by a script, retries, metrics, process records.
`sidekiq_ways.py PORT PROTOCOL`."""

import json
import sys

import redis

port, protocol = int(sys.argv[1]), int(sys.argv[2]) or 3
client = redis.Redis(port=port, protocol=protocol, decode_responses=True)


def job(number, **more):
    return json.dumps({"class": "Work", "args": [number], "jid": f"j{number}", **more})


def push(numbers, queue="default"):
    with client.pipeline(transaction=False) as pipe:
        pipe.sadd("queues", queue)
        pipe.lpush(f"queue:{queue}", *[job(number) for number in numbers])
        return pipe.execute()


print("pushed", push(range(5)), push([9], "low"))
print("fetched", [client.brpop(["queue:critical", "queue:default", "queue:low"], 2) for _ in range(6)])
print("nothing", client.brpop(["queue:critical", "queue:default"], 0.05))

# The poller moves what is due, one job at a time.
TAKE_DUE = """
local key, now = KEYS[1], ARGV[1]
local jobs = redis.call("zrange", key, "-inf", now, "byscore", "limit", 0, 1)
if jobs[1] then
  redis.call("zrem", key, jobs[1])
  return jobs[1]
end
"""
client.zadd("schedule", {job(10): 100.25, job(11): 200.5, job(12): 9e9})
digest = client.script_load(TAKE_DUE)
due = []
while taken := client.evalsha(digest, 1, "schedule", "1000.0"):
    due.append(taken)
    client.lpush("queue:default", taken)
print("due", due, client.zrange("schedule", 0, -1, withscores=True))

# A failed job is kept with the time of its next attempt; the dead ones are trimmed.
client.zadd("retry", {job(10, retry_count=0): 300.125})
with client.pipeline() as pipe:
    pipe.zadd("dead", {job(11, error_class="E"): 400})
    pipe.zremrangebyscore("dead", "-inf", 100)
    pipe.zremrangebyrank("dead", 0, -10_000)
    print("dead", pipe.execute())
print("sets", client.zscan("retry", match="*j10*"), client.zrangebyscore("retry", 300, 301), client.zcard("dead"))

# A process' record, its work, and the counters of the day.
with client.pipeline() as pipe:
    pipe.sadd("processes", "host:1:abc")
    pipe.hset("host:1:abc", mapping={"info": "{}", "concurrency": 10, "busy": 1, "beat": "1.5", "rtt_us": 90})
    pipe.expire("host:1:abc", 60)
    pipe.unlink("host:1:abc:work")
    pipe.hset("host:1:abc:work", "t1", job(10))
    pipe.expire("host:1:abc:work", 60)
    pipe.incrby("stat:processed", 7)
    pipe.incrby("stat:processed:2026-01-01", 7)
    pipe.expire("stat:processed:2026-01-01", 1000)
    print("beat", pipe.execute())
print("processes", client.sscan("processes"), client.hmget("host:1:abc", ["info", "busy", "none"]))
with client.pipeline(transaction=False) as pipe:
    pipe.hincrby("j|1", "Work|p", 3)
    pipe.hincrby("j|1", "Work|ms", 120)
    pipe.expire("j|1", 1000)
    pipe.execute_command("BITFIELD", "h|Work", "OVERFLOW", "SAT", "INCRBY", "u16", "#3", 1, "INCRBY", "u16", "#25", 70000)
    pipe.expire("h|Work", 1000)
    print("metrics", pipe.execute())
print("read", client.execute_command("BITFIELD_RO", "h|Work", "GET", "u16", "#3", "GET", "u16", "#25"), client.hgetall("j|1"))
print("sizes", [client.llen(f"queue:{name}") for name in sorted(client.smembers("queues"))])
print("info", sorted(set(client.info()) & {"redis_version", "maxmemory_policy", "connected_clients", "used_memory_human"}))
print("flush", client.flushall())
