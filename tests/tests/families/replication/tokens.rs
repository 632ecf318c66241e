//! Fencing tokens on a server that has become a master: no token is lower than one that the former master has given.

use crate::replication::servers::{Makes, Pair, info};
use lockwheel_tests::client::Client;

/// Takes a lock, and returns its token.
#[track_caller]
fn token(client: &mut Client, name: &str) -> i64 {
    let grant = client.line(&format!("LOCK.ACQUIRE {name} owner PX 100000"));
    let elements = grant.into_elements().expect("a map");
    elements[1].as_int().expect("a token")
}

/// Takes locks on the master, and returns the last token.
#[track_caller]
fn take_locks(pair: &mut Pair, names: &[&str]) -> i64 {
    let tokens: Vec<i64> = names.iter().map(|name| token(&mut pair.master, name)).collect();
    assert!(tokens.is_sorted(), "{tokens:?}");
    *tokens.last().expect("names are given")
}

#[track_caller]
fn promote(pair: &mut Pair) {
    pair.settle();
    assert_eq!(pair.ask_replica("REPLICAOF NO ONE"), "+OK");
}

#[test]
fn tokens_go_on_after_those_of_the_stream() {
    let Some(mut pair) = Makes::Ours.start() else { return };
    pair.follow();
    let last = take_locks(&mut pair, &["a", "b", "c"]);
    promote(&mut pair);
    let next = token(&mut pair.replica, "d");
    assert!(next > last, "{next} after {last}");
    assert!(token(&mut pair.replica, "e") == next + 1);
}

#[test]
fn tokens_go_on_after_those_of_the_snapshot() {
    let Some(mut pair) = Makes::Ours.start() else { return };
    let last = take_locks(&mut pair, &["a", "b", "c"]);
    pair.follow();
    promote(&mut pair);
    let next = token(&mut pair.replica, "d");
    assert!(next > last, "{next} after {last}");
}

#[test]
fn tokens_go_on_however_many_the_master_has_given() {
    let Some(mut pair) = Makes::Ours.start() else { return };
    pair.follow();
    let script = "for i = 1, 2500 do redis.call('lock.acquire', 'l' .. i, 'o', 'PX', '100000') end";
    pair.ask_master(&format!("EVAL \"{script}\" 0"));
    let last = take_locks(&mut pair, &["a"]);
    assert!(last > 2500, "{last}");
    promote(&mut pair);
    let next = token(&mut pair.replica, "d");
    assert!(next > last, "{next} after {last}");
}

#[test]
fn tokens_of_a_scripted_lock_count_too() {
    let Some(mut pair) = Makes::Ours.start() else { return };
    pair.follow();
    pair.ask_master("SET observed owner NX PX 100000");
    let last = take_locks(&mut pair, &["a"]);
    promote(&mut pair);
    let next = token(&mut pair.replica, "d");
    assert!(next > last, "{next} after {last}");
}

#[test]
fn a_real_replica_gets_no_numbers_of_grants() {
    let Some(mut pair) = Makes::RealReplica.start() else { return };
    take_locks(&mut pair, &["a", "b"]);
    pair.follow();
    take_locks(&mut pair, &["c", "d"]);
    pair.ask_master("LOCK.RELEASE a owner");
    pair.check_same();
    assert_eq!(info(&mut pair.replica, "stats", "unexpected_error_replies"), "0");
}
