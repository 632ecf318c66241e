//! Tests of the records alone: how they follow changes.

use super::{LockRecords, current_grant, grant, last_loss};
use lockwheel_store::keyspace::{Actor, CalledBy, Effect, Keyspace, Listeners, ScriptInputs, events};
use lockwheel_store::time::{ExpiryRule, Now};
use lockwheel_store::values::{Encodings, Hash, Str, Value};
use proptest::prelude::*;
use std::num::NonZeroU64;

const OWNER: &[u8] = b"8743c9c0-0795-4907-87fd-6c719a6b4586:1";

fn at(wall_ms: i64) -> Now {
    Now { wall_us: wall_ms * 1000, monotonic_us: 0 }
}

fn keyspace() -> Keyspace {
    let mut keyspace = Keyspace::new(1, 7);
    LockRecords::subscribe(&mut keyspace, 7);
    keyspace
}

fn take(keyspace: &mut Keyspace, key: &[u8], deadline_ms: i64) {
    let mut tx = keyspace.tx(0, at(0));
    let edit = tx.write_or_new::<Hash>(key).unwrap();
    edit.value.set(OWNER, b"1", &Encodings::default());
    let entry = edit.at;
    tx.field_added(entry, key, OWNER);
    tx.changed(key, events::HINCRBY);
    tx.set_deadline(key, deadline_ms);
}

fn messages(keyspace: &mut Keyspace) -> Vec<String> {
    let text = |effect: Effect| match effect {
        Effect::Notify { event, .. } => event.name.to_owned(),
        Effect::Publish { channel, message } => {
            format!("{} {}", String::from_utf8_lossy(&channel), String::from_utf8_lossy(&message))
        }
        _ => "(more)".to_owned(),
    };
    std::iter::from_fn(|| keyspace.next_effect()).map(text).collect()
}

#[test]
fn an_expiry_is_published_only_for_older_leases_with_subscribers() {
    let mut keyspace = keyspace();
    use Listeners::Any;
    for (listeners, quiet, expected) in
        [(Any, false, &["redisson_lock__channel:{l} 0"][..]), (Listeners::None, false, &[]), (Any, true, &[])]
    {
        keyspace.set_audience(listeners, false);
        take(&mut keyspace, b"l", 10);
        keyspace.advance_quietly(quiet);
        keyspace.note_advance();
        assert!(keyspace.expire_next(at(10), ExpiryRule::Reached));
        assert_eq!(messages(&mut keyspace), expected);
        keyspace.advance_quietly(false);
        take(&mut keyspace, b"l", 20);
        assert!(keyspace.expire_next(at(20), ExpiryRule::Reached));
        assert!(messages(&mut keyspace).is_empty());
    }
}

#[test]
fn a_flushed_lock_is_lost_and_grant_numbers_continue() {
    let mut keyspace = keyspace();
    take(&mut keyspace, b"l", 10);
    let tx = keyspace.tx(0, at(0));
    assert_eq!(
        (current_grant(&tx, b"l"), grant(&tx, b"l", OWNER).map(|grant| grant.number)),
        (Some(1), Some(1))
    );
    keyspace.tx(0, at(5)).flush();
    let tx = keyspace.tx(0, at(5));
    assert_eq!(current_grant(&tx, b"l"), None);
    let loss = last_loss(&tx, b"l", OWNER).unwrap();
    assert_eq!((loss.cause.name(), loss.wall_ms, loss.grant), ("deleted", 5, 1));
    take(&mut keyspace, b"l", 10);
    let tx = keyspace.tx(0, at(5));
    assert_eq!((current_grant(&tx, b"l"), last_loss(&tx, b"l", OWNER)), (Some(2), None));
}

#[test]
fn a_text_set_by_nx_is_an_owner_while_it_has_a_deadline() {
    let mut keyspace = keyspace();
    for (key, deadline, expected) in [(b"a", None, None), (b"b", Some(10), Some(1))] {
        let mut tx = keyspace.tx(0, at(0));
        let entry = tx.set(key, Value::Str(Str::new(b"me")), false);
        deadline.map(|deadline| tx.set_deadline(key, deadline));
        tx.set_if_absent(entry, key, b"me");
        assert_eq!(grant(&tx, key, b"me").map(|grant| grant.number), expected);
    }
}

const OTHER: &[u8] = b"8743c9c0-0795-4907-87fd-6c719a6b4586:22";
const KEYS: [&[u8]; 3] = [b"a", b"b", b"c"];

#[derive(Clone, Copy, Debug)]
enum Act {
    /// A script adds the owner's field, with a lease.
    Take,
    /// A script that names the owner removes the key.
    GiveBack,
    /// A script that does not name the owner removes the key.
    Force,
    /// A client's command that names only the key removes it.
    Delete,
    Expire,
}

/// Does the action, by a script with these arguments or by a client.
fn act(keyspace: &mut Keyspace, act: Act, key: &[u8], owner: &[u8]) {
    let (keys, named, unnamed) = ([key], [&b"0"[..], owner, b"30000"], [&b"0"[..]]);
    let inputs = ScriptInputs::new(&keys, if matches!(act, Act::Force) { &unnamed } else { &named });
    let called_by = match act {
        Act::Take | Act::GiveBack | Act::Force => CalledBy::Script(&inputs),
        Act::Delete | Act::Expire => CalledBy::Client,
    };
    let actor = Actor { session: NonZeroU64::new(7), called_by, command: &[b"del", key] };
    let mut tx = keyspace.tx_by(&actor, 0, at(0));
    match act {
        Act::Take => {
            let edit = tx.write_or_new::<Hash>(key).unwrap();
            let is_new = edit.value.set(owner, b"1", &Encodings::default());
            let entry = edit.at;
            if is_new {
                tx.field_added(entry, key, owner);
            }
            tx.changed(key, events::HINCRBY);
            tx.set_deadline(key, 10);
        }
        Act::GiveBack | Act::Force | Act::Delete => drop(tx.delete(key)),
        Act::Expire => while keyspace.expire_next(at(10), ExpiryRule::Reached) {},
    }
}

/// Returns what is known of all keys after these actions, with or without a listener to events.
fn known(acts: &[(Act, usize, bool)], is_listening: bool) -> Vec<String> {
    let mut keyspace = keyspace();
    let listeners = if is_listening { Listeners::Any } else { Listeners::None };
    keyspace.set_audience(listeners, is_listening);
    let mut known = Vec::new();
    for &(what, key, is_other) in acts {
        act(&mut keyspace, what, KEYS[key], if is_other { OTHER } else { OWNER });
        let tx = keyspace.tx(0, at(5));
        for (key, owner) in KEYS.into_iter().flat_map(|key| [(key, OWNER), (key, OTHER)]) {
            known.push(format!("{:?} {:?}", grant(&tx, key, owner), last_loss(&tx, key, owner)));
        }
    }
    let mut tx = keyspace.tx(0, at(5));
    let (records, context) = LockRecords::of_mut(&mut tx);
    known.extend(KEYS.map(|key| format!("{:?}", records.ledger.last_cause(0, key, &context))));
    known
}

proptest! {
    /// While nobody listens, the keyspace does by itself what the ledger does otherwise.
    #[test]
    fn records_are_equal_with_and_without_subscribers(
        acts in prop::collection::vec(
            (
                prop_oneof![
                    6 => Just(Act::Take),
                    6 => Just(Act::GiveBack),
                    1 => Just(Act::Force),
                    1 => Just(Act::Delete),
                    1 => Just(Act::Expire),
                ],
                0_usize..3,
                prop::bool::weighted(0.2),
            ),
            1..30,
        ),
    ) {
        prop_assert_eq!(known(&acts, false), known(&acts, true));
    }
}
