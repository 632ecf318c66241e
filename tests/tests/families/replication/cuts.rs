//! Connections are cut, masters change: replicas continue from their offset.

use crate::replication::servers::{Makes, Pair, info};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// Waits until a field of INFO has a value. The wait polls the server and does not sleep.
#[track_caller]
fn until(client: &mut Client, section: &str, field: &str, value: &str) {
    while info(client, section, field) != value {
        client.line("PING");
    }
}

#[test]
fn a_replica_continues_the_stream_after_a_disconnect() {
    for makes in Makes::ALL {
        let Some(mut pair) = makes.start() else { continue };
        pair.follow();
        for round in 1..4 {
            let kill = if round % 2 == 0 { "CLIENT KILL TYPE replica" } else { "CLIENT KILL TYPE master" };
            match round % 2 {
                0 => pair.ask_master(kill),
                _ => pair.ask_replica(kill),
            };
            for n in 0..100 {
                pair.ask_master(&format!("RPUSH list {n}"));
            }
            pair.check_same();
            assert_eq!(info(&mut pair.master, "stats", "sync_partial_ok"), round.to_string(), "{makes:?}");
            assert_eq!(info(&mut pair.master, "stats", "sync_full"), "1", "{makes:?}");
        }
    }
}

#[test]
fn a_replica_behind_the_backlog_gets_a_snapshot() {
    let mut pair = Makes::Ours.start().expect("ours are always there");
    pair.ask_master("CONFIG SET repl-backlog-size 16384");
    pair.follow();
    pair.ask_replica("REPLICAOF 127.0.0.1 1");
    for n in 0..100_u64 {
        // A text that cannot be compressed.
        let text: String = (0..100_u64)
            .map(|m| (n * 7919 + m * m * 104_729).wrapping_mul(2_654_435_761).to_string())
            .collect();
        pair.ask_master(&format!("SET key{n} {text}"));
    }
    pair.follow().check_same();
    assert_eq!(info(&mut pair.master, "stats", "sync_full"), "2");
    // The replica first asked, as in Redis, to continue its own history.
    assert_eq!(info(&mut pair.master, "stats", "sync_partial_err"), "2");
}

/// A replica takes over: the others, and the old master, follow it by the stream alone.
#[test]
fn a_new_master_is_followed_without_a_snapshot() {
    for makes in [Makes::Ours, Makes::RealReplica] {
        let Some(mut pair) = makes.start() else { continue };
        pair.follow();
        let other = ours::server();
        let mut third = Client::connect(other.addr());
        let [master, heir] = [&pair.servers.0, &pair.servers.1].map(|server| server.addr().port());
        assert_eq!(third.line(&format!("REPLICAOF 127.0.0.1 {master}")).to_string(), "+OK");
        pair.ask_master("SET k before");
        assert_eq!(pair.ask_master("WAIT 2 0"), ":2");
        let old = info(&mut pair.replica, "replication", "master_replid");
        assert_eq!(pair.ask_replica("REPLICAOF NO ONE"), "+OK");
        assert_eq!(info(&mut pair.replica, "replication", "master_replid2"), old);
        pair.ask_replica("SET k after");
        assert_eq!(third.line(&format!("REPLICAOF 127.0.0.1 {heir}")).to_string(), "+OK");
        assert_eq!(pair.ask_master(&format!("REPLICAOF 127.0.0.1 {heir}")), "+OK");
        pair.ask_replica("SET k2 v");
        assert_eq!(pair.ask_replica("WAIT 2 0"), ":2", "{makes:?}");
        assert_eq!(third.line("GET k").to_string(), "\"after\"");
        assert_eq!(pair.ask_master("GET k2"), "\"v\"");
        assert_eq!(info(&mut pair.replica, "stats", "sync_full"), "0", "{makes:?}");
        assert_eq!(info(&mut pair.replica, "stats", "sync_partial_ok"), "2", "{makes:?}");
    }
}

/// The stream is passed on unchanged between all combinations of servers.
#[test]
fn a_replica_has_replicas() {
    for makes in Makes::ALL {
        let Some(mut pair) = makes.start() else { continue };
        pair.ask_master("SELECT 3");
        pair.follow();
        let last = ours::server();
        let mut client = Client::connect(last.addr());
        let middle = pair.servers.1.addr().port();
        assert_eq!(client.line(&format!("REPLICAOF 127.0.0.1 {middle}")).to_string(), "+OK");
        until(&mut client, "replication", "master_link_status", "up");
        for n in 0..50 {
            pair.ask_master(&format!("RPUSH list {n}"));
        }
        pair.check_same();
        let end = info(&mut pair.replica, "replication", "master_repl_offset");
        // The offsets of a chain are the same.
        while info(&mut client, "replication", "master_repl_offset").parse::<u64>().unwrap_or(0)
            < end.parse().unwrap_or(0)
        {
            client.line("PING");
        }
        assert_eq!(client.line("DEBUG DIGEST"), pair.replica.line("DEBUG DIGEST"), "{makes:?}");
        assert_eq!(
            info(&mut client, "replication", "master_replid"),
            info(&mut pair.master, "replication", "master_replid")
        );
    }
}

/// A real replica of our replica reads the first master's writes: the data that both had before, later writes, and
/// writes while it is away.
#[test]
fn a_real_replica_follows_a_replica_of_ours() {
    let Some(mut pair) = Makes::RealReplica.start() else { return };
    let middle = ours::server();
    let mut between = Client::connect(middle.addr());
    let write = |pair: &mut Pair, n: u32| {
        pair.ask_master(&format!("HSET hash{n} f v g w"));
        pair.ask_master(&format!("HPEXPIRE hash{n} 100000 FIELDS 1 f"));
        pair.ask_master(&format!("SADD set{n} 1 2 99999999999999999999"));
        pair.ask_master(&format!("XADD stream{n} 1-1 f v"));
        pair.ask_master(&format!("XGROUP CREATE stream{n} group 0"));
        pair.ask_master(&format!("XREADGROUP GROUP group one STREAMS stream{n} >"));
        pair.ask_master(&format!("XREADGROUP GROUP group two STREAMS stream{n} >"));
    };
    write(&mut pair, 0);
    assert_eq!(
        between.line(&format!("REPLICAOF 127.0.0.1 {}", pair.servers.0.addr().port())).to_string(),
        "+OK"
    );
    until(&mut between, "replication", "master_link_status", "up");
    write(&mut pair, 1);
    assert_eq!(pair.ask_replica(&format!("REPLICAOF 127.0.0.1 {}", middle.port())), "+OK");
    until(&mut pair.replica, "replication", "master_link_status", "up");
    write(&mut pair, 2);
    assert_eq!(between.line("CLIENT KILL TYPE replica").to_string(), ":1");
    write(&mut pair, 3);
    pair.ask_master("SET last 1");
    while pair.ask_replica("GET last") != "\"1\"" {}
    let digest = pair.ask_master("DEBUG DIGEST");
    assert_eq!(between.line("DEBUG DIGEST").to_string(), digest);
    assert_eq!(pair.ask_replica("DEBUG DIGEST"), digest);
    assert_eq!(pair.ask_replica("HLEN hash3"), ":2");
}

/// A promoted replica gives its history a new name, although its master has drawn the same names.
#[test]
fn servers_with_the_same_seed_have_different_replication_ids() {
    let [old, new] = [(); 2].map(|()| ours::builder().seed(7).start().expect("it starts"));
    let [mut master, mut heir] = [&old, &new].map(|server| Client::connect(server.addr()));
    heir.line(&format!("REPLICAOF 127.0.0.1 {}", old.port()));
    until(&mut heir, "replication", "master_link_status", "up");
    master.line("SET k v");
    assert_eq!(master.line("WAIT 1 0").to_string(), ":1");
    heir.line("REPLICAOF NO ONE");
    // The new master has advanced further than the old one has on its own.
    master.line("SET of-the-old 1");
    (0..100).for_each(|n| _ = heir.line(&format!("SET of-the-new{n} 1")));
    master.line(&format!("REPLICAOF 127.0.0.1 {}", new.port()));
    until(&mut master, "replication", "master_link_status", "up");
    assert_eq!(heir.line("WAIT 1 0").to_string(), ":1");
    assert_eq!(master.line("DEBUG DIGEST"), heir.line("DEBUG DIGEST"));
}

#[test]
fn a_promoted_replica_keeps_its_data_and_accepts_writes() {
    let mut pair: Pair = Makes::Ours.start().expect("ours are always there");
    pair.ask_master("SET k v");
    pair.follow();
    assert_eq!(pair.ask_replica("SET k w"), "-READONLY You can't write against a read only replica.");
    assert_eq!(pair.ask_replica("REPLICAOF NO ONE"), "+OK");
    assert_eq!(pair.ask_replica("GET k"), "\"v\"");
    assert_eq!(pair.ask_replica("SET k w"), "+OK");
    assert_eq!(pair.ask_replica("REPLICAOF NO ONE"), "+OK");
    assert_eq!(pair.ask_replica("ROLE"), pair.ask_replica("ROLE"));
}
