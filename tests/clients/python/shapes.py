"""redis-py's clients of clusters and of masters that sentinels name. `shapes.py (cluster | sentinel) PORT...` sets and
gets what each line of its input says, and answers with a line."""

import sys

from redis.cluster import ClusterNode, RedisCluster
from redis.sentinel import Sentinel

shape, ports = sys.argv[1], [int(port) for port in sys.argv[2:]]
if shape == "cluster":
    client = RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", port) for port in ports])
else:
    client = Sentinel([("127.0.0.1", port) for port in ports]).master_for("m")
for line in sys.stdin:
    verb, key, *value = line.split()
    try:
        reply = client.set(key, value[0]) if verb == "set" else client.get(key)
        reply = reply.decode() if isinstance(reply, bytes) else {True: "OK", None: "nothing"}[reply]
    except Exception as error:
        reply = "failed " + " ".join(repr(error).split())
    print(reply, flush=True)
