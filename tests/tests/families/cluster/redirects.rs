//! Slots that migrate between nodes: ASK, TRYAGAIN, ASKING, and transactions.

use crate::cluster::nodes::Both;
use lockwheel_tests::client::Protocol;

/// The slot of `{bar}`, which the first node owns; `{foo}` is the third's.
const SLOT: u16 = 5061;

#[test]
fn a_migrating_slot_is_served_at_both_nodes_as_by_redis() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    let ids = both.ids.clone();
    for line in ["SET {bar}1 a", "SET {bar}2 b", "MGET {bar}1 {bar}2", "MGET {bar}1 foo", "MSET {bar}1 x y z"]
    {
        both.same(0, line);
    }
    both.same(1, "GET {bar}1");
    both.same(0, &format!("CLUSTER SETSLOT {SLOT} MIGRATING {}", ids[1]));
    both.same(1, &format!("CLUSTER SETSLOT {SLOT} IMPORTING {}", ids[0]));
    for line in [
        "GET {bar}1",
        "GET {bar}9",
        "MGET {bar}1 {bar}9",
        "MGET {bar}8 {bar}9",
        "SET {bar}9 x",
        "DEL {bar}1",
        "EVAL \"return 1\" 1 {bar}9",
        "EVAL \"return redis.call('get', KEYS[1])\" 1 {bar}2",
        "EVAL \"return redis.call('get', '{bar}9')\" 1 {bar}2",
        "MULTI",
        "GET {bar}2",
        "EXEC",
        "MULTI",
        "GET {bar}9",
        "EXEC",
        "MULTI",
        "GET {bar}2",
        "GET foo",
        "EXEC",
        "PING",
        "EXEC",
    ] {
        both.same(0, line);
    }
    for line in [
        "GET {bar}9",
        "ASKING",
        "GET {bar}9",
        "GET {bar}9",
        "ASKING",
        "SET {bar}9 c",
        "ASKING",
        "MGET {bar}9 {bar}10",
        "ASKING",
        "MGET {bar}9 {bar}9",
        "ASKING",
        "MSET {bar}10 a {bar}9 b",
        "ASKING",
        "MULTI",
        "GET {bar}9",
        "SET {bar}9 d",
        "EXEC",
        "GET {bar}9",
        "ASKING",
        "PING",
        "GET {bar}9",
        "RESTORE-ASKING {bar}11 0 x",
    ] {
        both.same(1, line);
    }
    both.same(0, "GET {bar}2");
    for line in [format!("CLUSTER SETSLOT {SLOT} STABLE"), "GET {bar}9".to_owned()] {
        both.same(0, &line);
        both.same(1, &line);
    }
}

#[test]
fn transactions_of_several_nodes_are_refused_as_a_whole() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    for line in [
        "MULTI",
        "SET {bar}1 a",
        "GET {bar}2",
        "EXEC",
        "MULTI",
        "SET {bar}1 a",
        "SET {bar}2 a",
        "GET bas",
        "EXEC",
        "MULTI",
        "SET x a",
        "EXEC",
        "WATCH {bar}1",
        "WATCH x",
        "WATCH {bar}1 foo",
        "MULTI",
        "EXEC",
        "EXEC",
        "MULTI",
        "PING",
        "EXEC",
        "MULTI",
        "MSET {bar}1 b hello c",
        "PING",
        "DISCARD",
        "MULTI",
        "SELECT 1",
        "SELECT 0",
        "EXEC",
    ] {
        both.same(0, line);
    }
}

/// A failed transaction does not queue later requests, so that their keys count for no slot.
#[test]
fn transactions_that_cannot_run_get_the_errors_of_redis() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    let unknown = "SETX {bar}1";
    let refused = "MGET {bar}1 b";
    let short = "GET";
    for before in [&[][..], &["GET {bar}1"], &["GET {bar}1", "GET b"], &["GET b"]] {
        for wrong in [unknown, refused, short, "GET foo", "MULTI", "WATCH b"] {
            for after in [&[][..], &["GET b"], &["GET b", "GET {bar}1"]] {
                for line in [&["MULTI"], before, &[wrong], after, &["EXEC"]].concat() {
                    both.same(0, line);
                }
            }
        }
    }
    for changed in [false, true] {
        for queued in [&["GET {bar}1", "GET b"][..], &["GET b"], &[unknown, "GET b", "GET {bar}1"]] {
            let begin = if changed { "SET {bar}1 a" } else { "PING" };
            for line in [&["WATCH {bar}1", begin, "MULTI"], queued, &["EXEC"]].concat() {
                both.same(0, line);
            }
        }
    }
}

/// Redis checks the keys that `numkeys` counts before the destination key.
#[test]
fn unserved_slots_are_checked_in_the_order_of_redis() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    both.same(0, "CONFIG SET cluster-require-full-coverage no");
    // The slot of `b`.
    both.same(0, "CLUSTER DELSLOTS 3300");
    for line in [
        "GET b",
        "MGET {bar}1 b",
        "MGET b {bar}1",
        "SORT {bar}1 STORE b",
        "SORT b STORE {bar}1",
        "EVAL \"return 1\" 2 {bar}1 b",
        "EVAL \"return 1\" 2 b {bar}1",
        "EVAL \"return 1\" x b {bar}1",
        "LMPOP 2 b {bar}1 LEFT",
        "SINTERCARD 2 {bar}1 b",
        "XREAD STREAMS {bar}1 b 0 0",
        "XREAD STREAMS b 0",
        "XREAD COUNT 1 BLOCK 1 STREAMS b 0",
        "XREAD COUNT STREAMS STREAMS b 0",
        "XREAD NOACK STREAMS b 0",
        "XREAD WORD STREAMS b 0",
        "XREAD WORD 1 STREAMS foo 0",
        "XREADGROUP GROUP g c STREAMS b >",
        "XREADGROUP GROUP g c NOACK COUNT 1 STREAMS foo >",
        "XREADGROUP GROUP g c WORD STREAMS foo >",
        "XREADGROUP COUNT 1 GROUP g c STREAMS foo >",
    ] {
        both.same(0, line);
    }
    // The wording has changed since 7.2.
    let words = "XREAD STREAMS b {bar}1 0".split(' ').map(|word| word.as_bytes().to_vec());
    for answer in both.answers(0, &words.collect::<Vec<_>>()) {
        assert!(answer.contains("ERR Unbalanced"), "{answer}");
    }
    for command in ["ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"] {
        for keys in [
            "{bar}1 1 b",
            "b 1 {bar}1",
            "b 2 {bar}1 {bar}2",
            "{bar}1 2 {bar}2 b",
            "{bar}1 2 b {bar}2",
            "b 1 b",
            "b 0 {bar}1",
            "b x {bar}1",
            "b 3 {bar}1 b",
            "b 1x {bar}1",
            "foo 1 b",
            "b 1 foo",
        ] {
            both.same(0, &format!("{command} {keys}"));
        }
    }
}

#[test]
fn a_cluster_has_one_database() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    for line in [
        "SELECT 0",
        "SELECT 1",
        "SELECT x",
        "SELECT 99",
        "SELECT -1",
        "SWAPDB 0 1",
        "SWAPDB x 1",
        "SWAPDB 0 0",
        "SET {bar}1 a",
        "MOVE {bar}1 1",
        "MOVE {bar}1 x",
        "MOVE foo 1",
        "COPY {bar}1 {bar}2 DB 1",
        "COPY {bar}1 {bar}2 DB 0",
        "COPY {bar}1 {bar}2 DB 99",
        "COPY {bar}1 {bar}3 DB x",
        "COPY {bar}1 foo",
        "RPUSH {bar}l b a",
        "SORT {bar}l BY x* ALPHA",
        "SORT {bar}l BY nosort",
        "SORT {bar}l GET # ALPHA",
        "SORT {bar}l GET x*",
        "SORT {bar}l LIMIT x y GET #",
        "SORT {bar}l ALPHA STORE {bar}m",
        "SORT {bar}l ALPHA STORE foo",
        "SORT_RO {bar}l ALPHA BY x*",
        "CONFIG GET databases",
        "CONFIG GET cluster-enabled",
        "CONFIG SET cluster-enabled no",
    ] {
        both.same(0, line);
    }
}

#[test]
fn blocked_clients_are_redirected_when_their_slot_moves() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    let ids = both.ids.clone();
    let mut waiting = both.connect(0);
    for client in &mut waiting {
        client.send_line("BLPOP {bar}l 0");
    }
    let is_waiting = |text: &str| text.contains("blocked_clients:1");
    while !both
        .answers(0, &lockwheel_tests::client::split("INFO clients"))
        .iter()
        .all(|info| is_waiting(info))
    {}
    for node in [1, 0, 2] {
        both.same(node, &format!("CLUSTER SETSLOT {SLOT} NODE {}", ids[1]));
    }
    let answers = waiting.each_mut().map(|client| format!("{:?}", client.read_reply()));
    let [real, ours] = answers.map(|answer| both.neutral(&answer));
    assert_eq!(real, ours);
    assert_eq!(real, format!("-MOVED {SLOT} 127.0.0.1:PORT1"));
}

#[test]
fn a_replica_redirects_requests_to_its_master_except_reads() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    for line in
        ["READONLY", "GET foo", "GET {bar}1", "CLIENT LIST", "READWRITE", "READONLY x", "ASKING", "ASKING x"]
    {
        if line == "CLIENT LIST" {
            let lists = both.answers(0, &lockwheel_tests::client::split(line));
            assert!(lists.iter().all(|list| list.contains("flags=r ")), "{lists:?}");
        } else {
            both.same(0, line);
        }
    }
}

#[test]
fn asking_and_readonly_in_a_script_do_not_apply_to_its_client() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    let ids = both.ids.clone();
    both.same(1, &format!("CLUSTER SETSLOT {SLOT} IMPORTING {}", ids[0]));
    for line in [
        "EVAL \"redis.call('asking') return 1\" 0",
        "SET {bar}9 x",
        "EVAL \"redis.call('asking') return redis.call('set', '{bar}9', 'x')\" 0",
        "EVAL \"return redis.call('readonly', 'x')\" 0",
        "ASKING",
        "EVAL \"redis.call('asking') return redis.call('set', '{bar}9', 'x')\" 0",
        "MULTI",
        "ASKING",
        "EXEC",
        "SET {bar}9 x",
    ] {
        both.same(1, line);
    }
    for (line, flags) in [
        ("EVAL \"return redis.call('readonly')\" 0", "flags=N "),
        ("READONLY", "flags=r "),
        ("EVAL \"return redis.call('readwrite')\" 0", "flags=r "),
    ] {
        both.same(0, line);
        let lists = both.answers(0, &lockwheel_tests::client::split("CLIENT LIST ID 0 1 2 3 4 5 6 7 8 9"));
        let own = |list: &String| {
            let line = list.split("\\n").find(|line| line.contains("cmd=client|list"));
            line.is_some_and(|line| line.contains(flags))
        };
        assert!(lists.iter().all(own), "{line}: {lists:?}");
    }
}

#[test]
fn a_node_refuses_the_failover_of_servers_by_themselves() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    for line in ["FAILOVER", "FAILOVER ABORT", "FAILOVER TO h 1"] {
        both.same(0, line);
    }
}

#[test]
fn requests_without_keys_are_answered_while_the_cluster_is_down() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    for line in [
        "CLUSTER DELSLOTS 5",
        "GET {bar}1",
        "MIGRATE h 1 \"\" 0 1000 KEYS",
        "MIGRATE h 1 \"\" 0 1000 COPY KEYS",
        "MIGRATE h 1 \"\" 0 1000 KEYS {bar}1",
        "MIGRATE h 1 \"\" 0 1000 AUTH KEYS",
        "MIGRATE h 1 x 0 1000 KEYS",
        "MIGRATE h 1 \"\" 0 1000",
        "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 KEYS",
        "COMMAND GETKEYS MIGRATE h 1 \"\" 0 1000 KEYS a b",
    ] {
        both.same(0, line);
    }
}
