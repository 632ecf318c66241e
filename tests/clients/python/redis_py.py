"""redis-py: connects with its defaults, sends the script, and uses its own interfaces. `redis_py.py PORT PROTOCOL`."""

import re
import sys
from pathlib import Path

import redis

port, protocol = int(sys.argv[1]), int(sys.argv[2])
lines = Path(__file__).parent.with_name("script.txt").read_text().splitlines()


def show(value):
    """A reply as text; what has no order gets one."""
    if isinstance(value, dict):
        pairs = sorted((show(key), show(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(value, (set, frozenset)):
        return "set(" + ", ".join(sorted(map(show, value))) + ")"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(show, value)) + "]"
    return repr(value)


def attempt(what):
    try:
        return show(what())
    except Exception as error:  # Its decoders may fail too.
        return f"{type(error).__name__}: {error}"


client = redis.Redis(port=port) if protocol == 0 else redis.Redis(port=port, protocol=protocol)
# One connection, as MULTI wants it.
single = client.client()
for number, line in enumerate(lines, 1):
    if line and not line.startswith("#"):
        words = [quoted.replace("\\n", "\n") or word for quoted, word in re.findall(r"'([^']*)'|(\S+)", line)]
        print(number, attempt(lambda: single.execute_command(*words)))

with client.pipeline() as pipe:
    pipe.set("a", 1).incr("a").hset("h", mapping={"f": "v"}).hgetall("h").zadd("z", {"m": 1.5})
    print("transaction", attempt(pipe.execute))
with client.pipeline(transaction=False) as pipe:
    print("pipeline", attempt(lambda: [pipe.get("a").zrange("z", 0, -1, withscores=True).execute()]))
messages = client.pubsub()
messages.subscribe("channel")
messages.psubscribe("chan*")
print("listeners", client.publish("channel", "text"))
print("messages", [show(messages.get_message(timeout=5)) for _ in range(4)])
messages.close()
print("script", attempt(lambda: client.register_script("return {KEYS[1], ARGV[1]}")(keys=["k"], args=["a"])))
print("stream", attempt(lambda: [client.xadd("x", {"f": "v"}, id="1-1"), client.xread({"x": 0}), client.xinfo_stream("x")]))
print("geo", attempt(lambda: [client.geoadd("g", (13.361389, 38.115556, "P")), client.geopos("g", "P")]))
print("scan", show(sorted(client.scan_iter())))
with client.monitor() as monitor:
    client.set("k", 'a "b" \\ \n\x00')
    client.eval("return redis.call('get', KEYS[1])", 1, "k")
    seen = []
    while not seen or seen[-1]["client_type"] != "lua":
        seen.append(monitor.next_command())
    print("monitor", show([[one["db"], one["client_type"], one["command"]] for one in seen if "LIB-" not in one["command"]]))
with client.lock("lock", timeout=100) as lock:
    print("lock", lock.owned(), lock.extend(5), lock.locked())
print("flush", client.flushall())
