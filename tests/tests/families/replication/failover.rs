//! FAILOVER: a master of either kind hands its role over to a replica of either kind.

use crate::replication::servers::{Makes, Pair, info};
use lockwheel_tests::client::Client;
use lockwheel_tests::shapes::until;

fn follows(client: &mut Client, port: u16) -> bool {
    let role = client.line("ROLE").to_string();
    role.starts_with("[\"slave\"") && role.contains(&format!(":{port}")) && role.contains("\"connected\"")
}

/// The replica follows and has all data, as its master knows.
fn followed(makes: Makes) -> Option<Pair> {
    let mut pair = makes.start()?;
    pair.follow();
    let master = &mut pair.master;
    until("it is online", || info(master, "replication", "slave0").contains("state=online"));
    Some(pair)
}

#[test]
fn failover_makes_the_replica_the_master() {
    for makes in Makes::ALL {
        let Some(mut pair) = followed(makes) else { continue };
        let [old, new] = [pair.servers.0.addr().port(), pair.servers.1.addr().port()];
        pair.master.line("SET k v");
        assert_eq!(pair.ask_master("FAILOVER TIMEOUT 60000"), "+OK", "{makes:?}");
        until("the old master follows", || follows(&mut pair.master, new));
        assert_eq!(pair.ask_replica("GET k"), "\"v\"", "{makes:?}");
        assert_eq!(info(&mut pair.master, "replication", "master_failover_state"), "no-failover");
        assert_eq!(info(&mut pair.replica, "stats", "sync_full"), "0", "{makes:?}: it went on where it was");
        assert_eq!(pair.ask_replica("SET k w"), "+OK");
        assert_eq!(pair.ask_replica("WAIT 1 0"), ":1");
        assert_eq!(pair.ask_master("GET k"), "\"w\"", "{makes:?}");
        // The way back, to the named replica.
        let line = format!("FAILOVER TO 127.0.0.1 {old} TIMEOUT 60000");
        until("it is online", || pair.ask_replica(&line) == "+OK");
        until("the new master follows", || follows(&mut pair.replica, old));
        assert_eq!(pair.ask_master("SET k x"), "+OK", "{makes:?}");
    }
}

#[test]
fn an_invalid_failover_request_changes_nothing() {
    let refused = |makes: Makes| {
        let mut pair = followed(makes)?;
        let [own, heir] = [pair.servers.0.addr().port(), pair.servers.1.addr().port()];
        let lines = [
            "FAILOVER FORCE".to_owned(),
            "FAILOVER FORCE TIMEOUT 5".to_owned(),
            format!("FAILOVER TO 127.0.0.1 {heir} FORCE"),
            format!("FAILOVER TO 127.0.0.1 {heir} FORCE FORCE TIMEOUT 5"),
            format!("FAILOVER TO 127.0.0.1 {own}"),
            "FAILOVER TO 127.0.0.1 0".to_owned(),
            format!("FAILOVER TO nowhere {heir}"),
            "FAILOVER ABORT".to_owned(),
            "FAILOVER ABORT TIMEOUT 5".to_owned(),
            "FAILOVER TO 127.0.0.1 99999999999999999999".to_owned(),
            "PSYNC ? 1 FAILOVER".to_owned(),
        ];
        let mut answers: Vec<String> = lines.iter().map(|line| pair.ask_master(line)).collect();
        let lines = ["FAILOVER", "FAILOVER FORCE", "FAILOVER ABORT", "PSYNC ? 1 FAILOVER"];
        answers.extend(lines.iter().map(|line| pair.ask_replica(line)));
        assert_eq!(pair.ask_master("SET k v"), "+OK", "nobody is paused");
        assert!(answers.iter().all(|answer| answer.starts_with("-ERR ")), "{answers:?}");
        Some(answers)
    };
    let Some(real) = refused(Makes::RealMaster) else { return };
    let (ours, with_real) = (refused(Makes::Ours).expect("no real one"), refused(Makes::RealReplica));
    assert_eq!(Some(&real), with_real.as_ref());
    assert_eq!(real, ours);
}
