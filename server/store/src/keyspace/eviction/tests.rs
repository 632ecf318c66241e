//! Tests of which keys go, and how well they are chosen.

use super::{EvictionPolicy, EvictionRules, Rank};
use crate::keyspace::{AccessRules, Keyspace, Measure};
use crate::time::{ExpiryRule, Now};
use crate::values::{Str, Value};
use std::collections::BTreeSet;

fn at(second: i64) -> Now {
    Now { wall_us: second * 1_000_000, monotonic_us: 0 }
}

fn key(n: i64) -> Vec<u8> {
    format!("key:{n}").into_bytes()
}

/// A keyspace with these keys, one made in each second.
fn filled(keys: std::ops::Range<i64>, deadline_of: impl Fn(i64) -> Option<i64>) -> Keyspace {
    let mut keyspace = Keyspace::new(4, 7);
    for n in keys {
        keyspace.go_on_at(at(n), ExpiryRule::Past);
        let mut tx = keyspace.tx(0, at(n));
        tx.set(&key(n), Value::Str(Str::from_i64(n)), false);
        if let Some(deadline) = deadline_of(n) {
            tx.set_deadline(&key(n), deadline);
        }
    }
    keyspace
}

fn rules(volatile: bool, rank: Rank) -> EvictionRules {
    EvictionRules { policy: EvictionPolicy { volatile, rank }, samples: 5 }
}

/// Evicts `count` keys; returns the numbers of those that are left.
fn left_after(keyspace: &mut Keyspace, count: usize, rules: EvictionRules, second: i64) -> BTreeSet<i64> {
    keyspace.go_on_at(at(second), ExpiryRule::Past);
    for _ in 0..count {
        assert!(keyspace.evict_next(rules, at(second)));
    }
    let tx = keyspace.tx(0, at(second));
    (0..20_000).filter(|n| tx.exists(&key(*n))).collect()
}

#[test]
fn older_keys_are_evicted_more_often_and_the_youngest_rarely() {
    let mut keyspace = filled(0..10_000, |_| None);
    let left = left_after(&mut keyspace, 5000, rules(false, Rank::IdleTime), 10_000);
    let old = left.range(..5000).count();
    // Redis 7.0 leaves about 10 % of the older half with 5 samples.
    assert!(old < 500, "{old} of the older half are left");
    assert!(left.range(9000..).count() > 990);
    assert_eq!(keyspace.counters.evicted_keys, 5000);
}

#[test]
fn huge_sample_counts_are_limited_by_the_number_of_keys() {
    let mut keyspace = filled(0..100, |_| None);
    let every = EvictionRules { samples: usize::MAX, ..rules(false, Rank::IdleTime) };
    let left = left_after(&mut keyspace, 50, every, 100);
    assert!(left.range(50..).count() >= 48, "{left:?}");
}

#[test]
fn rarely_used_keys_are_evicted_first() {
    let mut keyspace = Keyspace::new(1, 7);
    keyspace.set_access_rules(AccessRules { measure: Measure::Frequency, log_factor: 0, decay_minutes: 0 });
    for n in 0..1000 {
        keyspace.tx(0, at(0)).set(&key(n), Value::Str(Str::from_i64(n)), false);
        for _ in 0..n % 10 {
            let mut tx = keyspace.tx(0, at(0));
            assert!(tx.get(&key(n)).is_some());
        }
    }
    let left = left_after(&mut keyspace, 300, rules(false, Rank::Frequency), 0);
    let seldom = left.iter().filter(|n| *n % 10 < 3).count();
    assert!(seldom < 60, "{seldom} of the 300 that were used least are left");
}

#[test]
fn keys_with_the_nearest_deadline_are_evicted_first() {
    let mut keyspace = filled(0..1000, |n| (n % 2 == 0).then_some(10_000_000 - n * 1000));
    let left = left_after(&mut keyspace, 100, rules(true, Rank::Deadline), 1000);
    assert!((0..800).chain((800..1000).filter(|n| n % 2 == 1)).all(|n| left.contains(&n)));
    assert_eq!(left.len(), 900);
}

#[test]
fn volatile_policies_evict_only_keys_with_deadlines() {
    for rank in [Rank::IdleTime, Rank::Frequency, Rank::Deadline, Rank::Random] {
        let mut keyspace = filled(0..5000, |n| (n % 500 == 3).then_some(i64::from(i32::MAX) * 1000));
        let rules = rules(true, rank);
        let left = left_after(&mut keyspace, 10, rules, 5000);
        assert_eq!(left.len(), 4990, "{rank:?}");
        assert!(left.iter().all(|n| n % 500 != 3), "{rank:?}");
        assert!(!keyspace.evict_next(rules, at(5000)), "{rank:?}");
        assert!(!keyspace.may_evict(rules.policy));
    }
}

#[test]
fn random_eviction_is_even_over_keys_and_databases() {
    let mut keyspace = filled(0..10_000, |_| None);
    for n in 0..100 {
        keyspace.tx(3, at(0)).set(&key(n), Value::Str(Str::from_i64(n)), false);
    }
    let left = left_after(&mut keyspace, 200, rules(false, Rank::Random), 10_000);
    assert_eq!((keyspace.sizes(3).0, left.len()), (0, 9900));
    let left = left_after(&mut keyspace, 4900, rules(false, Rank::Random), 10_000);
    let young = left.range(5000..).count();
    assert!((2300..2700).contains(&young), "{young}");
}

#[test]
fn the_same_seed_evicts_the_same_keys_until_none_is_left() {
    let evicted = || {
        let mut keyspace = filled(0..300, |_| None);
        keyspace.tx(0, at(300)).set(b"", Value::Str(Str::from_i64(0)), false);
        let rules = rules(false, Rank::IdleTime);
        let first = left_after(&mut keyspace, 150, rules, 300);
        while keyspace.evict_next(rules, at(300)) {}
        assert_eq!(keyspace.sizes(0).0, 0);
        assert!(keyspace.bytes().data < 16_384, "a page is kept, no value");
        first
    };
    assert_eq!(evicted(), evicted());
}
