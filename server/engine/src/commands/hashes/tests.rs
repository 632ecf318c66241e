//! Tests of events and encodings, which no reply of a hash command shows.

use crate::commands::testing::World;

#[test]
fn events_are_published_only_for_changes() {
    World::new().check(&[
        ("HSET h f v g 1", ":2", "hset h"),
        ("HSET h f v", ":0", "hset h"),
        ("HMSET h f v", "+OK", "hset h"),
        ("HSETNX h f w", ":0", ""),
        ("HSETNX n f w", ":1", "hset n"),
        ("HSET h f v g", "-ERR wrong number of arguments for 'hset' command", ""),
        ("HINCRBY h g 2", ":3", "hincrby h"),
        ("HINCRBY h f 2", "-ERR hash value is not an integer", ""),
        ("HINCRBYFLOAT h g 0.5", "$3 3.5", "hincrbyfloat h"),
        ("HINCRBYFLOAT h f 0.5", "-ERR hash value is not a float", ""),
        ("HINCRBYFLOAT new f inf", "-ERR value is NaN or Infinity", ""),
        ("HDEL h x y", ":0", ""),
        ("HDEL h f x", ":1", "hdel h"),
        ("HDEL h g g", ":1", "hdel h, del h"),
        ("HDEL h g", ":0", ""),
        ("HGETALL h", "*0", ""),
    ]);
}

#[test]
fn a_refused_command_makes_no_key() {
    let mut world = World::new();
    for line in ["HSET k f v g", "HINCRBY k f x", "HINCRBYFLOAT k f x", "HINCRBYFLOAT k f -inf", "HSCAN k x"]
    {
        assert!(world.run(line).starts_with("-ERR"), "{line}");
        assert_eq!(world.encoding("k"), "none", "{line}");
    }
    world.run("SADD s m");
    for line in [
        "HSET s f v",
        "HMSET s f v",
        "HSETNX s f v",
        "HDEL s f",
        "HINCRBY s f 1",
        "HINCRBYFLOAT s f 1",
        "HGET s f",
        "HMGET s f",
        "HEXISTS s f",
        "HLEN s",
        "HSTRLEN s f",
        "HKEYS s",
        "HVALS s",
        "HGETALL s",
        "HRANDFIELD s",
        "HRANDFIELD s 1",
        "HSCAN s 0",
    ] {
        assert!(world.run(line).starts_with("-WRONGTYPE"), "{line}");
    }
    assert_eq!(world.run("SMEMBERS s"), "*1 $1 m");
}

#[test]
fn many_or_long_fields_make_a_table() {
    let mut world = World::new();
    world.run(&format!("HSET a f {}", "v".repeat(64)));
    assert_eq!(world.encoding("a"), "listpack");
    world.run(&format!("HSETNX a g {}", "v".repeat(65)));
    assert_eq!(world.encoding("a"), "hashtable");
    let pairs: Vec<String> = (0..513).map(|n| format!("f{n} v")).collect();
    world.run(&format!("HSET b {}", pairs[..512].join(" ")));
    assert_eq!(world.encoding("b"), "listpack");
    assert_eq!(world.run("HINCRBY b n 1"), ":1");
    assert_eq!(world.encoding("b"), "hashtable");
    world.run(&format!("HSET c {}", pairs.join(" ")));
    assert_eq!(world.encoding("c"), "hashtable");
}

#[test]
fn lookups_are_counted_as_hits_and_misses() {
    let mut world = World::new();
    world.run("HSET h f v");
    assert_eq!((world.keyspace.counters.keyspace_hits, world.keyspace.counters.keyspace_misses), (0, 0));
    world.run("HGET h none");
    world.run("HLEN none");
    assert_eq!((world.keyspace.counters.keyspace_hits, world.keyspace.counters.keyspace_misses), (1, 1));
}
