//! The ledger alone: how it follows changes.

use super::{LockLedger, current_grant, grant, last_loss};
use crate::keyspace::{Effect, Keyspace, events};
use crate::time::{Now, Over};
use crate::values::{Encodings, Hash, Str, Value};

const OWNER: &[u8] = b"8743c9c0-0795-4907-87fd-6c719a6b4586:1";

fn at(wall_ms: i64) -> Now {
    Now { wall_us: wall_ms * 1000, monotonic_us: 0 }
}

fn keyspace() -> Keyspace {
    let mut keyspace = Keyspace::new(1, 7);
    keyspace.subscribe(Box::new(LockLedger::new(7)));
    keyspace
}

/// Takes a lock as Redisson's script does.
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
fn only_a_lease_that_was_made_before_the_last_turn_is_told_of_and_only_if_somebody_listens() {
    let mut keyspace = keyspace();
    for (audience, quiet, expected) in
        [(true, false, &["redisson_lock__channel:{l} 0"][..]), (false, false, &[]), (true, true, &[])]
    {
        keyspace.audience = audience;
        take(&mut keyspace, b"l", 10);
        keyspace.turn_quietly(quiet);
        keyspace.note_turn();
        assert!(keyspace.expire_next(at(10), Over::Reached));
        assert_eq!(messages(&mut keyspace), expected);
        keyspace.turn_quietly(false);
        take(&mut keyspace, b"l", 20);
        assert!(keyspace.expire_next(at(20), Over::Reached));
        assert!(messages(&mut keyspace).is_empty());
    }
}

#[test]
fn a_lock_that_is_flushed_is_lost_and_numbers_of_grants_go_on() {
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
fn a_text_that_is_set_if_absent_is_an_owner_while_it_has_a_deadline() {
    let mut keyspace = keyspace();
    for (key, deadline, expected) in [(b"a", None, None), (b"b", Some(10), Some(1))] {
        let mut tx = keyspace.tx(0, at(0));
        let entry = tx.set(key, Value::Str(Str::new(b"me")), false);
        deadline.map(|deadline| tx.set_deadline(key, deadline));
        tx.set_if_absent(entry, key, b"me");
        assert_eq!(grant(&tx, key, b"me").map(|grant| grant.number), expected);
    }
}
