//! INFO: its sections and fields, and the counts of commands and errors, compared with the real servers.

use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Fields that 7.2 or a newer server has, and redis-server 7.0.15 lacks.
const NEWER: &[&str] = &[
    "listener0",
    "total_blocking_keys",
    "total_blocking_keys_on_nokey",
    "expired_fields",
    "client_query_buffer_limit_disconnections",
    "client_output_buffer_limit_disconnections",
    "eventloop_cycles",
    "eventloop_duration_sum",
    "eventloop_duration_cmd_sum",
    "instantaneous_eventloop_cycles_per_sec",
    "instantaneous_eventloop_duration_usec",
    "acl_access_denied_auth",
    "acl_access_denied_cmd",
    "acl_access_denied_key",
    "acl_access_denied_channel",
];

/// Our own fields.
const OWN: &[&str] = &["lockwheel_version", "mem_locks_fences", "mem_locks_past", "total_unblocked_clients"];

fn info(address: SocketAddr, words: &str) -> String {
    let reply = Client::connect(address).line(&format!("INFO {words}"));
    String::from_utf8_lossy(reply.as_bytes().expect("a text")).into_owned()
}

/// The headings, and the names of fields whose names do not depend on earlier commands.
fn names(info: &str) -> Vec<&str> {
    let of_calls = ["cmdstat_", "errorstat_", "latency_percentiles_usec_"];
    let names = info.lines().map(|line| line.split(':').next().unwrap_or_default());
    names.filter(|name| !of_calls.iter().any(|prefix| name.starts_with(prefix))).collect()
}

#[test]
fn info_has_the_fields_of_redis_in_its_order() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    for words in
        ["", "default", "all", "everything", "server clients", "LATENCYSTATS", "nosuch", "memory cpu"]
    {
        let (real, ours) = (info(real.addr(), words), info(server.addr(), words));
        let expected = names(&real);
        let found: Vec<&str> =
            names(&ours).into_iter().filter(|name| !NEWER.contains(name) && !OWN.contains(name)).collect();
        assert_eq!(found, expected, "INFO {words}");
    }
}

#[test]
fn newer_fields_of_info_have_the_position_of_the_newer_server() {
    let Some(real) = RealServer::start(Kind::Valkey, &[]) else { return };
    let server = ours::server();
    let (real, ours) = (info(real.addr(), "everything"), info(server.addr(), "everything"));
    let (real, ours) = (names(&real), names(&ours));
    for name in NEWER {
        assert!(ours.contains(name), "{name}");
    }
    let ours: Vec<&str> = ours.into_iter().filter(|name| real.contains(name) && !name.is_empty()).collect();
    let real: Vec<&str> = real.into_iter().filter(|name| ours.contains(name)).collect();
    assert_eq!(ours, real);
}

/// The calls, refusals and failures of each command except those that ask for them, and the count of each error.
fn counts(address: SocketAddr) -> BTreeMap<String, String> {
    let text = info(address, "commandstats errorstats");
    let counts = text.lines().filter_map(|line| line.split_once(':')).map(|(name, value)| {
        let counted = value.split(',').filter(|field| !field.starts_with("usec"));
        (name.to_owned(), counted.collect::<Vec<_>>().join(","))
    });
    counts.filter(|(name, _)| name != "cmdstat_info").collect()
}

#[test]
fn commands_and_errors_are_counted_as_redis_counts_them() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let lines = [
        "GET a",
        "GET",
        "NOSUCH",
        "LPUSH l 1",
        "INCR l",
        "AUTH x",
        "AUTH a b",
        "AUTH a b c",
        "MULTI",
        "GET",
        "SET k v",
        "EXEC",
        "MULTI",
        "INCR l",
        "SET k v",
        "EXEC",
        "EXEC",
        "EVAL \"return redis.call('incr', 'l')\" 0",
        "EVAL \"return redis.pcall('incr', 'l')\" 0",
        "EVAL \"return redis.call('nosuch')\" 0",
        "EVAL \"return redis.call('get')\" 0",
        "EVAL \"return {err='MY own'}\" 0",
        "EVAL \"this is wrong\" 0",
        "EVALSHA x 0",
        "CLIENT NOSUCH",
        "CLIENT LIST x",
        "SUBSCRIBE c",
        "GET a",
        "UNSUBSCRIBE c",
        "SELECT 99",
        "FCALL x 0",
        "OBJECT HELP",
        "LATENCY GRAPH x",
        "MEMORY USAGE",
        "BLPOP l x",
        "BLPOP none 0.01",
        "XADD s * a",
        "CONFIG SET nosuch x",
    ];
    let [theirs, ours] = [real.addr(), server.addr()].map(|address| {
        let mut client = Client::connect(address);
        client.line("CONFIG RESETSTAT");
        lines.iter().for_each(|line| drop(client.line(line)));
        counts(address)
    });
    assert_eq!(ours, theirs);
}

#[test]
fn info_counts_connections_and_their_bytes() {
    let server = ours::server();
    let field = |name: &str| -> u64 {
        let info = info(server.addr(), "stats");
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::parse);
        value.expect("it is there").expect("a number")
    };
    let before = ["total_net_input_bytes", "total_net_output_bytes", "total_reads_processed"].map(field);
    let mut client = Client::connect(server.addr());
    for _ in 0..10 {
        client.cmd(&["ECHO", &"x".repeat(10_000)]);
    }
    let after = ["total_net_input_bytes", "total_net_output_bytes", "total_reads_processed"].map(field);
    assert!(after[0] - before[0] > 100_000 && after[1] - before[1] > 100_000, "{before:?} {after:?}");
    assert!(after[2] - before[2] >= 10, "{before:?} {after:?}");
    assert!(field("eventloop_cycles") > 10 && field("total_writes_processed") > 10);
}
