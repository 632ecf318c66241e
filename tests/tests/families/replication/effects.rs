//! Commands whose propagation is delicate: master and replica end with the same data.

use crate::replication::servers::{Makes, Pair, info};

/// Sequences of requests, each on empty servers.
const SEQUENCES: &[&[&str]] = &[
    // Fields that a condition keeps.
    &["HSET h a 1 b 2 c 3", "HEXPIRE h 100 FIELDS 1 a", "HPEXPIREAT h 1 NX FIELDS 2 a b"],
    // Deadlines of fields that have passed when a script restores them.
    &[
        "HSET h a 1 b 2",
        "HPEXPIRE h 40 FIELDS 1 a",
        "EVAL \"redis.call('set', 'p', redis.call('dump', 'h'))\" 0",
        "CLOCK.ADVANCE 100",
        "EVAL \"redis.call('restore', 'h2', '0', redis.call('get', 'p'))\" 0",
        "EVAL \"redis.call('restore', 'h3', '100000', redis.call('get', 'p'))\" 0",
        "DEL p",
    ],
    // A hash whose fields are all due, found by a command that does not name it.
    &[
        "DEBUG SET-ACTIVE-EXPIRE 0",
        "HSET h a 1",
        "HPEXPIRE h 30 FIELDS 1 a",
        "CLOCK.ADVANCE 100",
        "EVAL \"redis.call('MSETNX', 'h', '1', 'y', '2')\" 0",
    ],
    // A string that grows although no field of it is set.
    &["BITFIELD bf OVERFLOW FAIL SET u8 0 256", "APPEND bf x"],
    // Messages and values of locks in one script.
    &[
        "LOCK.ACQUIRE l o PX 100000",
        "EVAL \"redis.call('incr', 'n') redis.call('lock.release', 'l', 'o') redis.call('incr', 'n')\" 0",
    ],
];

#[test]
fn replicas_have_the_data_of_their_master() {
    for makes in [Makes::Ours, Makes::RealReplica] {
        for lines in SEQUENCES {
            let Some(mut pair) = makes.start() else { return };
            pair.follow();
            for line in *lines {
                let reply = pair.ask_master(line);
                assert!(!reply.starts_with('-'), "{line}: {reply}");
            }
            pair.check_same();
        }
    }
}

/// A replica of Redis' own stores such elements in the order of its own table.
#[test]
fn members_of_a_set_with_equal_weights_are_stored_in_one_order() {
    let Some(mut pair) = Makes::Ours.start() else { return };
    pair.follow();
    pair.ask_master("EVAL \"for i = 1, 400 do redis.call('sadd', 's', 'member' .. i) end\" 0");
    pair.ask_master("SPOP s 150");
    pair.ask_master("SPOP s");
    assert_eq!(pair.ask_master("SORT s BY w_* ALPHA STORE d"), ":249");
    pair.check_same();
}

/// The limits of a replica do not hold for what its master has done.
#[test]
fn a_replica_ignores_its_own_limits_for_replicated_writes() {
    let Some(Pair { mut master, mut replica, servers }) = Makes::Ours.start() else { return };
    replica.line("CONFIG SET proto-max-bulk-len 1mb");
    master.line("CONFIG SET proto-max-bulk-len 8mb");
    let mut pair = Pair { master, replica, servers };
    pair.follow();
    for line in [
        "SETRANGE a 2000000 x",
        "SETBIT b 30000000 1",
        "BITFIELD c SET u8 30000000 1",
        "EVAL \"redis.call('append', 'd', string.rep('x', 900000))\" 0",
        "EVAL \"redis.call('append', 'd', string.rep('x', 900000))\" 0",
        "APPEND d y",
    ] {
        let reply = pair.ask_master(line);
        assert!(!reply.starts_with('-'), "{line}: {reply}");
    }
    pair.check_same();
    assert_eq!(info(&mut pair.replica, "stats", "unexpected_error_replies"), "0");
}
