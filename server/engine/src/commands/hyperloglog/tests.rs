//! Tests of the effects of HyperLogLog commands.

use super::self_test;
use crate::commands::testing::World;

#[test]
fn events_are_published_only_for_changes() {
    let mut world = World::new();
    world.check(&[
        ("PFADD p", ":1", "pfadd p"),
        ("PFADD p", ":0", ""),
        ("PFADD p a b", ":1", "pfadd p"),
        ("PFADD p a b a", ":0", ""),
        ("PFCOUNT p", ":2", ""),
        ("PFCOUNT p none", ":2", ""),
        ("PFMERGE p", "+OK", "pfadd p"),
        ("PFMERGE q p", "+OK", "pfadd q"),
        ("PFDEBUG TODENSE p", ":1", ""),
        ("PFDEBUG TODENSE p", ":0", ""),
    ]);
}

/// CVE-2025-32023, as a client would send it.
#[test]
fn every_command_refuses_a_string_with_too_many_runs() {
    let corrupted = "-INVALIDOBJ Corrupted HLL object detected";
    let mut world = World::new();
    let mut bytes = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80".to_vec();
    bytes.extend([0x7f, 0xff].repeat(132_072));
    bytes.push(0xff);
    world.request(&[b"SET", b"p", &bytes]);
    for line in
        ["PFCOUNT p", "PFCOUNT p q", "PFMERGE q p", "PFMERGE p", "PFDEBUG GETREG p", "PFDEBUG TODENSE p"]
    {
        assert_eq!(world.run(line), corrupted, "{line}");
    }
    assert_eq!(world.run("STRLEN p"), format!(":{}", bytes.len()));
    assert_eq!(world.run("EXISTS q"), ":0");
}

#[test]
fn pfadd_adds_all_elements_or_none() {
    let mut world = World::new();
    // The value has registers only up to 64.
    world.request(&[b"SET", b"p", b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x3f"]);
    let inside = (0..10_000).map(|n| format!("e{n}")).find(|element| {
        let mut alone = World::new();
        alone.request(&[b"SET", b"p", b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x3f"]);
        alone.run(&format!("PFADD p {element}")) == ":1"
    });
    let inside = inside.expect("one of 256 is");
    let mut refused = 0;
    for n in 0..100 {
        world.request(&[b"SET", b"p", b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x3f"]);
        if world.run(&format!("PFADD p {inside} e{n}")).starts_with("-INVALIDOBJ") {
            refused += 1;
            assert_eq!(world.run("PFDEBUG DECODE p"), "$4 z:64");
        }
    }
    assert!(refused > 50);
}

#[test]
fn the_self_test_passes() {
    assert_eq!(self_test::run(1), Ok(()));
}
