//! Tests of the effects of bitmap commands on keys.

use crate::commands::testing::World;

#[test]
fn events_are_published_only_for_changes() {
    let mut world = World::new();
    world.check(&[
        ("SETBIT b 7 1", ":0", "setbit b"),
        ("SETBIT b 7 1", ":1", ""),
        ("SETBIT b 15 0", ":0", "setbit b"),
        ("BITFIELD b SET u8 0 1", "*1 :1", ""),
        ("BITFIELD b SET u8 8 1 INCRBY u8 8 1", "*2 :0 :2", "setbit b"),
        ("BITFIELD b OVERFLOW FAIL SET u8 0 256", "*1 $-1", ""),
        ("BITFIELD none GET u8 0", "*1 :0", ""),
        ("BITFIELD none", "*0", ""),
        ("BITOP AND none b none", ":2", "set none"),
        ("BITOP AND none nothing", ":0", "del none"),
        ("BITOP AND none nothing", ":0", ""),
    ]);
}

#[test]
fn a_bit_at_a_high_offset_takes_only_its_bytes() {
    let mut world = World::new();
    world.run("SETBIT b 4294967295 1");
    let bytes = world.keyspace.bytes().data;
    assert!((1 << 29..(1 << 29) + (1 << 20)).contains(&bytes), "{bytes}");
    assert_eq!(world.run("BITPOS b 1"), ":4294967295");
}
