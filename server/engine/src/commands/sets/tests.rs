//! Tests of events and encodings, which no reply of a set command shows.

use crate::commands::testing::World;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn events_are_published_only_for_changes() {
    World::new().check(&[
        ("SADD s a b a", ":2", "sadd s"),
        ("SADD s a", ":0", ""),
        ("SREM s x", ":0", ""),
        ("SREM s a x", ":1", "srem s"),
        ("SREM s b b", ":1", "srem s, del s"),
        ("SADD s a b c d", ":4", "sadd s"),
        ("SPOP s 0", "*0", ""),
        ("SPOP none", "$-1", ""),
        ("SPOP none 1", "*0", ""),
        ("SPOP s 4", "*4 $1 a $1 b $1 c $1 d", "spop s, del s"),
        ("SADD s a", ":1", "sadd s"),
        ("SPOP s", "$1 a", "spop s, del s"),
        ("SADD s a", ":1", "sadd s"),
        ("SPOP s 7", "*1 $1 a", "spop s, del s"),
    ]);
}

#[test]
fn smove_publishes_events_for_both_sets() {
    World::new().check(&[
        ("SADD s a b c", ":3", "sadd s"),
        ("SMOVE s t x", ":0", ""),
        ("SMOVE s s a", ":1", ""),
        ("SMOVE s s x", ":0", ""),
        ("SMOVE none s a", ":0", ""),
        ("SMOVE s t a", ":1", "srem s, sadd t"),
        ("SADD t b", ":1", "sadd t"),
        ("SMOVE s t b", ":1", "srem s"),
        ("SMOVE s t c", ":1", "srem s, del s, sadd t"),
        ("SMEMBERS t", "*3 $1 a $1 b $1 c", ""),
    ]);
}

#[test]
fn store_commands_publish_an_event_for_the_destination() {
    World::new().check(&[
        ("SADD s a b", ":2", "sadd s"),
        ("SADD t b c", ":2", "sadd t"),
        ("SINTERSTORE d s t", ":1", "sinterstore d"),
        ("SUNIONSTORE d s t", ":3", "sunionstore d"),
        ("SDIFFSTORE d s t", ":1", "sdiffstore d"),
        ("SDIFFSTORE d s s", ":0", "del d"),
        ("SINTERSTORE d s none", ":0", ""),
        ("SUNIONSTORE s none", ":0", "del s"),
        ("HSET h f v", ":1", "hset h"),
        ("SUNIONSTORE t h t", "-WRONGTYPE Operation against a key holding the wrong kind of value", ""),
        ("SUNIONSTORE h t", ":2", "sunionstore h"),
    ]);
}

#[test]
fn popping_part_of_a_set_keeps_the_key() {
    for members in ["a b c d e f", "1 2 3 4 5 6"] {
        let mut world = World::new();
        world.run(&format!("SADD s {members}"));
        world.events();
        assert!(world.run("SPOP s 2").starts_with("*2 "));
        assert_eq!(world.events(), "spop s");
        assert!(world.run("SPOP s").starts_with("$1 "));
        assert_eq!(world.events(), "spop s");
        assert_eq!(world.run("SCARD s"), ":3");
    }
}

#[test]
fn the_first_member_and_the_number_of_members_decide_the_encoding() {
    let mut world = World::new();
    let numbers: Vec<String> = (0..513).map(|n| n.to_string()).collect();
    let names: Vec<String> = (0..129).map(|n| format!("m{n}")).collect();
    for (key, members, encoding) in [
        ("a", &numbers[..512], "intset"),
        ("b", &numbers[..], "hashtable"),
        ("c", &names[..128], "listpack"),
        ("d", &names[..], "hashtable"),
        ("e", &["m".repeat(65)], "hashtable"),
        ("a", &names[..1], "hashtable"),
        ("f", &numbers[..1], "intset"),
        ("f", &names[..1], "listpack"),
    ] {
        world.run(&format!("SADD {key} {}", members.join(" ")));
        assert_eq!(world.encoding(key), encoding, "{key}");
    }
    world.run("SADD g 1 x 2");
    world.run("SMOVE f h 0");
    assert_eq!(world.encoding("h"), "intset");
    world.run("SDIFFSTORE h g c");
    assert_eq!(world.encoding("h"), "listpack");
    world.run("SADD x x");
    world.run("SDIFFSTORE h g x");
    assert_eq!(world.encoding("h"), "intset");
}

fn members(reply: &str) -> Vec<String> {
    reply.split(' ').skip(2).step_by(2).map(str::to_string).collect()
}

proptest! {
    #[test]
    fn set_algebra_equals_that_of_btree_sets(
        sets in prop::collection::vec(prop::collection::btree_set("[a-d]?[0-9]", 0..12), 1..5),
        twice: bool,
    ) {
        let mut world = World::new();
        let mut keys: Vec<String> = (0..sets.len()).map(|n| format!("s{n}")).collect();
        let mut sets = sets;
        for (key, set) in keys.iter().zip(&sets).filter(|(_, set)| !set.is_empty()) {
            world.run(&format!("SADD {key} {}", set.iter().cloned().collect::<Vec<_>>().join(" ")));
        }
        if twice {
            keys.push(keys[0].clone());
            sets.push(sets[0].clone());
        }
        let (first, others) = sets.split_first().unwrap();
        let inter = first.iter().filter(|m| others.iter().all(|set| set.contains(*m))).cloned();
        let diff = first.iter().filter(|m| !others.iter().any(|set| set.contains(*m))).cloned();
        let union = sets.iter().flatten().cloned();
        let models: [(&str, BTreeSet<String>); 3] =
            [("SINTER", inter.collect()), ("SDIFF", diff.collect()), ("SUNION", union.collect())];
        let keys = keys.join(" ");
        for (name, model) in models {
            let found = members(&world.run(&format!("{name} {keys}")));
            prop_assert_eq!(found.len(), model.len(), "{}", name);
            prop_assert_eq!(&found.into_iter().collect::<BTreeSet<_>>(), &model, "{}", name);
            prop_assert_eq!(world.run(&format!("{name}STORE d {keys}")), format!(":{}", model.len()));
            let stored: BTreeSet<_> = members(&world.run("SMEMBERS d")).into_iter().collect();
            prop_assert_eq!(&stored, &model, "{}", name);
        }
    }
}
