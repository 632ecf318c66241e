//! Requests that replicas refuse, keys that they hide, requests that masters refuse without replicas, and the role
//! reports of both.

use crate::replication::servers::{Makes, Pair, info};
use lockwheel::{Config, Server, Time};
use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, connected};
use lockwheel_tests::ours;
use lockwheel_tests::program::Process;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::shapes::until;
use std::io::{Read, Write};

/// A replica of ours and a real one, of masters of the other kind.
fn both_replicas() -> Option<[Pair; 2]> {
    let mut both = [Makes::RealMaster.start()?, Makes::RealReplica.start()?];
    both.iter_mut().for_each(|pair| _ = pair.follow());
    Some(both)
}

#[test]
fn a_replica_refuses_the_requests_that_a_real_one_refuses() {
    let Some([mut ours, mut real]) = both_replicas() else { return };
    for line in [
        "SET k v",
        "GET settled",
        "EVAL \"return redis.call('set', 'k', 'v')\" 0",
        "EVAL \"return redis.pcall('set', 'k', 'v').err\" 0",
        "EVAL \"return redis.call('get', 'settled')\" 0",
        "EVAL \"#!lua\\nreturn 1\" 0",
        "EVAL \"#!lua flags=no-writes\\nreturn 1\" 0",
        "EVAL_RO \"#!lua\\nreturn 1\" 0",
        "FUNCTION FLUSH",
        "PUBLISH c m",
        "BLPOP list 1",
        "MULTI",
        "SET k v",
        "EXEC",
        "MULTI",
        "GET settled",
        "EXEC",
        "EXPIRE settled 10",
        "REPLICAOF x y",
        "REPLICAOF 127.0.0.1 70000",
    ] {
        assert_eq!(ours.ask_replica(line), real.ask_replica(line), "{line}");
    }
    for pair in [&mut ours, &mut real] {
        pair.ask_replica("CONFIG SET replica-read-only no");
        assert_eq!(pair.ask_replica("SET local 1"), "+OK");
        let port = pair.servers.0.addr().port();
        let again = format!("REPLICAOF 127.0.0.1 {port}");
        assert_eq!(pair.ask_replica(&again), "+OK Already connected to specified master");
    }
}

#[test]
fn a_replica_without_its_master_replies_as_a_real_one() {
    let Some(real) = RealServer::start(Kind::Redis, &["--replica-serve-stale-data", "no"]) else { return };
    let own = ours::server();
    let [mut own, mut real] = [own.addr(), real.addr()].map(Client::connect).map(|mut client| {
        client.line("CONFIG SET replica-serve-stale-data no");
        client.line("REPLICAOF 127.0.0.1 1");
        client
    });
    for line in [
        "GET k",
        "SET k v",
        "PING",
        "INFO nothing",
        "CONFIG GET masterauth",
        "EVAL \"return 1\" 0",
        "EVAL \"#!lua\\nreturn 1\" 0",
        "EVAL \"#!lua flags=allow-stale,no-writes\\nreturn redis.call('get','k')\" 0",
        "EVAL \"#!lua flags=allow-stale,no-writes\\nreturn redis.call('echo','k')\" 0",
        "MULTI",
        "PING",
        "GET k",
        "EXEC",
        "SYNC",
        "PSYNC ? -1",
        "REPLICAOF NO ONE",
        "GET k",
    ] {
        assert_eq!(own.line(line).to_string(), real.line(line).to_string(), "{line}");
    }
}

/// A replica would take the answer to its own request for a part of its stream.
#[test]
fn a_replica_whose_request_causes_a_reply_is_disconnected() {
    let config = || {
        let mut config = Config::default();
        (config.port, config.replication.ping_period) = (0, 3600);
        config
    };
    let own = Server::builder().config(config()).start().expect("it starts");
    let real = RealServer::start(Kind::Redis, &["--repl-ping-replica-period", "3600"]);
    let servers =
        std::iter::once(&own as &dyn Endpoint).chain(real.as_ref().map(|real| real as &dyn Endpoint));
    for server in servers {
        let mut client = Client::connect(server.addr());
        let mut replicas = || client.line("CLIENT LIST TYPE replica").to_string();
        // `stays` is the command that CLIENT LIST shows for a replica that stays connected. `None` means a disconnected
        // one.
        for (request, stays) in [
            ("PING", None),
            ("GET x", None),
            ("NOPE", None),
            ("SET k v", None),
            ("SUBSCRIBE c", None),
            ("MULTI", None),
            ("EXEC", None),
            ("WAIT 0 0", None),
            ("REPLCONF listening-port 1", None),
            ("QUIT", None),
            ("REPLCONF ACK 0", Some("replconf")),
            ("REPLCONF GETACK *", Some("replconf")),
            ("CLIENT REPLY OFF\r\nPING", Some("ping")),
        ] {
            let mut replica = connected(server.addr());
            replica.write_all(b"PSYNC ? -1\r\n").expect("it is connected");
            until("it is a replica", || replicas().contains("cmd=psync"));
            replica.write_all(format!("{request}\r\n").as_bytes()).expect("it is connected");
            match stays {
                Some(command) => until(request, || replicas().contains(&format!("cmd={command} "))),
                None => {
                    let mut sent = Vec::new();
                    let ended = replica.read_to_end(&mut sent);
                    assert!(ended.is_ok() || sent.starts_with(b"+FULLRESYNC"), "{request}: {ended:?}");
                    let text = String::from_utf8_lossy(&sent).into_owned();
                    assert!(
                        !["PONG", "ERR ", "OK\r\n", ":0\r\n"].iter().any(|reply| text.contains(reply)),
                        "{text}"
                    );
                }
            }
            drop(replica);
            until("it is gone", || !replicas().contains("cmd="));
        }
    }
}

/// An answer that a rule gives in a replica's place ends its connection, and no message circulates for ever.
#[test]
fn a_rule_that_replies_to_a_replica_disconnects_it() {
    let topology = ours::builder().time(Time::Manual).replicas(2).start().expect("they start");
    let [mut master, mut replica] = [0, 1].map(|at| Client::connect(topology.servers()[at].addr()));
    assert_eq!(master.line("FAULT.ADD r ON replconf DO ERROR \"ERR a rule says so\"").to_string(), "+OK");
    assert_eq!(master.line("SET k v").to_string(), "+OK");
    assert!(master.line("CLOCK.ADVANCE 5000").to_string().contains("fired"));
    assert_eq!(master.line("FAULT.CLEAR").to_string(), ":1");
    assert!(master.line("CLOCK.ADVANCE 5000").to_string().contains("fired"));
    assert_eq!(master.line("WAIT 2 0").to_string(), ":2");
    assert_eq!(replica.line("GET k").to_string(), "\"v\"");
}

#[test]
fn writes_are_refused_without_enough_replicas() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let own = ours::server();
    let [mut one, mut other] = [own.addr(), real.addr()].map(Client::connect);
    for line in [
        "CONFIG SET min-replicas-to-write 1",
        "SET k v",
        "GET k",
        "MULTI",
        "SET k v",
        "EXEC",
        "EVAL \"return redis.call('set', 'k', 'v')\" 0",
        "EVAL \"#!lua\\nreturn 1\" 0",
        "PUBLISH c m",
        "CONFIG SET min-replicas-to-write 0",
        "SET k v",
    ] {
        assert_eq!(one.line(line).to_string(), other.line(line).to_string(), "{line}");
    }
    let mut pair = Makes::RealReplica.start().expect("it is there");
    pair.follow();
    pair.ask_master("CONFIG SET min-replicas-to-write 1");
    assert_eq!(pair.ask_master("SET k v"), "+OK");
    assert_eq!(info(&mut pair.master, "replication", "min_slaves_good_slaves"), "1");
}

#[test]
fn keys_of_a_replica_expire_on_command_of_its_master() {
    for makes in Makes::ALL {
        let Some(mut pair) = makes.start() else { continue };
        pair.follow();
        pair.ask_master("SET k v PX 30");
        pair.ask_master("HSET h f v");
        pair.ask_master("PEXPIRE h 30");
        pair.settle();
        // The key is hidden as soon as it has expired, and deleted when the master's command arrives.
        while pair.ask_replica("EXISTS k h") != ":0" {}
        while pair.ask_master("DBSIZE") != ":1" {}
        pair.check_same();
        assert_eq!(pair.ask_replica("DBSIZE"), ":1", "{makes:?}");
    }
}

#[test]
fn master_and_replica_show_each_other() {
    for makes in Makes::ALL {
        let Some(mut pair) = makes.start() else { continue };
        // There is nothing to report about a master that was never reached.
        pair.ask_replica("REPLICAOF 127.0.0.1 1");
        assert_eq!(pair.ask_replica("CLIENT LIST TYPE master"), "\"\"", "{makes:?}");
        assert_eq!(info(&mut pair.replica, "clients", "connected_clients"), "1", "{makes:?}");
        assert_eq!(pair.ask_replica("CLIENT KILL TYPE master"), ":0", "{makes:?}");
        pair.follow();
        let port = pair.servers.1.addr().port();
        let told = info(&mut pair.master, "replication", "slave0");
        assert!(
            told.starts_with(&format!("ip=127.0.0.1,port={port},state=online,offset=")),
            "{makes:?}: {told}"
        );
        assert_eq!(info(&mut pair.replica, "replication", "role"), "slave");
        assert_eq!(info(&mut pair.replica, "replication", "master_link_status"), "up");
        let role = pair.ask_replica("ROLE");
        let master = pair.servers.0.addr().port();
        assert!(
            role.starts_with(&format!("[\"slave\", \"127.0.0.1\", :{master}, \"connected\", :")),
            "{role}"
        );
        let role = pair.ask_master("ROLE");
        assert!(role.contains(&format!("[\"127.0.0.1\", \"{port}\", \"")), "{role}");
        assert!(pair.ask_master("CLIENT LIST TYPE replica").contains("flags=S"), "{makes:?}");
        assert!(pair.ask_replica("CLIENT LIST TYPE master").contains("flags=M"), "{makes:?}");
    }
}

#[test]
fn a_replica_with_the_password_replicates_its_master() {
    for user in ["", "follower"] {
        let mut pair = Makes::Ours.start().expect("ours are always there");
        pair.ask_master("ACL SETUSER follower on >word +psync +replconf +ping");
        pair.ask_master("CONFIG SET requirepass secret");
        pair.ask_replica(&format!("CONFIG SET masteruser '{user}'"));
        pair.ask_replica(&format!(
            "CONFIG SET masterauth {}",
            if user.is_empty() { "secret" } else { "word" }
        ));
        pair.follow().check_same();
    }
}

#[test]
fn messages_and_libraries_reach_replicas() {
    for makes in Makes::ALL {
        let Some(mut pair) = makes.start() else { continue };
        pair.follow();
        let mut listener = Client::connect(pair.servers.1.addr());
        listener.line("SUBSCRIBE news");
        pair.ask_master("PUBLISH news hello");
        assert_eq!(listener.read_frame().to_string(), "[\"message\", \"news\", \"hello\"]");
        let code = "#!lua name=lib\\nredis.register_function('f', function() return 'called' end)";
        assert_eq!(pair.ask_master(&format!("FUNCTION LOAD \"{code}\"")), "\"lib\"");
        pair.settle();
        assert_eq!(pair.ask_replica("FUNCTION LIST"), pair.ask_master("FUNCTION LIST"), "{makes:?}");
        let saved = pair.master.cmd(&["FUNCTION", "DUMP"]);
        let saved = saved.as_bytes().expect("a payload").to_vec();
        pair.ask_master("FUNCTION DELETE lib");
        pair.settle();
        assert_eq!(pair.ask_replica("FUNCTION LIST"), "[]");
        let restore: [&[u8]; 4] = [b"FUNCTION", b"RESTORE", &saved, b"FLUSH"];
        assert_eq!(pair.master.cmd(&restore).to_string(), "+OK");
        pair.settle();
        assert_eq!(pair.ask_replica("FUNCTION LIST"), pair.ask_master("FUNCTION LIST"), "{makes:?}");
        assert_ne!(pair.ask_replica("FUNCTION LIST"), "[]", "{makes:?}");
    }
}

/// A master's writes are final: no rule at a replica prevents them there.
#[test]
fn rules_of_a_replica_do_not_match_replicated_writes() {
    let mut pair = Makes::Ours.start().expect("ours need no other program");
    pair.follow();
    for (name, command) in [("a", "restore"), ("b", "exec"), ("c", "del"), ("d", "select")] {
        let added = pair.ask_replica(&format!("FAULT.ADD {name} ON {command} DO ERROR \"ERR no\""));
        assert_eq!(added, "+OK");
    }
    for line in ["SET k v", "MULTI", "SET one 1", "DEL k", "EXEC", "SELECT 3", "SET three 3"] {
        pair.ask_master(line);
    }
    pair.check_same();
    assert_eq!(pair.ask_replica("RESTORE k 0 x"), "-READONLY You can't write against a read only replica.");
}

/// Data that a replica has not read is reported, but does not count against `maxmemory`.
#[test]
fn memory_figures_include_replicas_and_the_backlog() {
    let mut pair = Makes::Ours.start().expect("ours need no other program");
    pair.follow();
    let number = |text: &str, name: &str| -> u64 {
        let value = text.split("\\r\\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    let text = pair.ask_master("INFO memory");
    let of_replicas = number(&text, "mem_clients_slaves");
    assert!(of_replicas > 0, "{text}");
    assert_eq!(number(&text, "mem_not_counted_for_evict"), of_replicas);
    let backlog = number(&text, "mem_replication_backlog");
    assert!(backlog > 0, "{text}");
    assert_eq!(number(&text, "mem_total_replication_buffers"), backlog + of_replicas);
    assert!(pair.ask_master("MEMORY STATS").contains(&format!("\"replication.backlog\", :{backlog}")));
}

/// A link to a master starts from its configured address.
#[test]
#[cfg(target_os = "linux")]
fn a_link_uses_the_configured_source_address() {
    let mut pair = Makes::Ours.start().expect("ours need no other program");
    // Only one address of this machine is not in use by others.
    assert_eq!(pair.ask_master("CONFIG SET protected-mode no"), "+OK");
    assert_eq!(pair.replica.line("CONFIG SET bind-source-addr 127.0.0.2").to_string(), "+OK");
    pair.follow();
    let told = pair.ask_master("INFO replication");
    assert!(told.contains("slave0:ip=127.0.0.2,"), "{told}");
}

/// Sentinels and clients find a replica by the port that it has announced to its master.
#[test]
fn a_replica_configured_at_its_start_announces_its_port() {
    let master = ours::server();
    let mut config = lockwheel::Config::default();
    config.replication.master = vec!["127.0.0.1".to_owned(), master.port().to_string()];
    let replica = ours::configured(config).start().expect("it starts");
    let mut client = Client::connect(master.addr());
    while info(&mut client, "replication", "connected_slaves") != "1" {}
    let line = info(&mut client, "replication", "slave0");
    assert!(line.contains(&format!("port={},", replica.port())), "{line}");
}

/// A real master replicates the exact threshold of a trimming and keeps LIMIT, a combination that a client may not
/// send.
#[test]
fn trimming_with_a_limit_reaches_a_replica_of_a_real_master() {
    for makes in Makes::ALL {
        let Some(mut pair) = makes.start() else { continue };
        pair.follow();
        for line in [
            "XADD k MAXLEN ~ 2 LIMIT 1 1-1 f v",
            "XADD k NOMKSTREAM MINID ~ 1 LIMIT 5 2-1 f v",
            "XADD k MAXLEN ~ 0 LIMIT 0 3-1 f v",
            "XADD k 4-1 limit 1",
            "XTRIM k MINID ~ 3 LIMIT 10",
        ] {
            assert!(!pair.ask_master(line).starts_with('-'), "{line}");
            pair.check_same();
        }
    }
}

/// The synchronisations that a master has counted: snapshots, and requests for the stream alone.
fn syncs(master: &dyn Endpoint) -> Vec<String> {
    let mut client = Client::connect(master.addr());
    ["sync_full", "sync_partial_ok", "sync_partial_err"]
        .map(|field| format!("{field} {}", info(&mut client, "stats", field)))
        .into()
}

#[test]
fn only_a_former_master_asks_for_a_partial_resynchronization() {
    let play = |own: bool| {
        let real = || RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"]);
        let master: Box<dyn Endpoint> = if own { Box::new(ours::server()) } else { Box::new(real()?) };
        let port = master.addr().port().to_string();
        let begun: Box<dyn Endpoint> = if own {
            let mut config = Config::default();
            config.replication.master = vec!["127.0.0.1".to_owned(), port.clone()];
            Box::new(ours::configured(config).start().expect("it starts"))
        } else {
            Box::new(RealServer::start(Kind::Redis, &["--replicaof", "127.0.0.1", &port])?)
        };
        let mut replica = Client::connect(begun.addr());
        until("it follows", || info(&mut replica, "replication", "master_link_status") == "up");
        let first = syncs(&*master);
        replica.line("REPLICAOF NO ONE");
        replica.line("SET k v");
        replica.line(&format!("REPLICAOF 127.0.0.1 {port}"));
        until("it follows", || info(&mut replica, "replication", "master_link_status") == "up");
        Some([first, syncs(&*master)])
    };
    let own = play(true).expect("ours is here");
    assert_eq!(own[0], ["sync_full 1", "sync_partial_ok 0", "sync_partial_err 0"]);
    assert_eq!(own[1], ["sync_full 2", "sync_partial_ok 0", "sync_partial_err 1"]);
    assert!(play(false).is_none_or(|real| real == own));
}

#[test]
fn the_option_slaveof_also_starts_a_replica() {
    let master = ours::server();
    let port = master.addr().port().to_string();
    for word in ["--replicaof", "--slaveof"] {
        let program = Process::start(&[word, "127.0.0.1", &port]);
        let mut replica = Client::connect(program.addr());
        until("it follows", || info(&mut replica, "replication", "master_link_status") == "up");
        assert_eq!(info(&mut replica, "replication", "master_port"), port, "{word}");
    }
}

#[test]
fn a_replica_may_announce_a_long_name() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let own = ours::server();
    let [mut one, mut other] = [own.addr(), real.addr()].map(Client::connect);
    for length in [45, 46, 255, 256, 300] {
        let line = format!("REPLCONF ip-address {}", "x".repeat(length));
        assert_eq!(one.line(&line).to_string(), other.line(&line).to_string(), "{length}");
    }
}
