//! CONTROL.RESET: between two tests on one server, everything returns to the initial state.

use lockwheel::{Config, OtherClients, Server, Time};
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::ours;
use std::thread;

/// The wall clock at the start, in milliseconds.
const START_MS: i64 = 1_000_000_000_000;

fn server(threads: usize) -> Server {
    let server = Server::builder().port(0).seed(ours::SEED).threads(threads).time(Time::At(START_MS));
    server.start().expect("loopback has a free port")
}

/// The lines and their clients. The third client waits for the others' actions.
const LINES: &[(usize, &str)] = &[
    (0, "SADD s a b c d e f g h i j k l m n o p"),
    (0, "SRANDMEMBER s 5"),
    (0, "SPOP s 3"),
    (1, "SET k v PX 5000"),
    (1, "MSET a 1 b 2 c 3 d 4 e 5 f 6"),
    (1, "SCAN 0 COUNT 3"),
    (0, "RANDOMKEY"),
    (0, "XADD x * f v"),
    (0, "EVAL 'return {math.random(1000), redis.call(\"time\")}' 0"),
    (0, "SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db"),
    (0, "EVAL 'return 1' 0"),
    (0, "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"),
    (0, "FUNCTION LOAD \"#!lua name=l\nredis.register_function('f', function() return 1 end)\""),
    (0, "FUNCTION LIST"),
    (1, "LOCK.ACQUIRE l me PX 1000"),
    (0, "LOCK.ACQUIRE l you PX 100 BLOCK 500"),
    (1, "CLOCK.ADVANCE 300"),
    (1, "DEL l"),
    (1, "LOCK.RELEASE l me"),
    (1, "LOCK.ACQUIRE m me PX 1000"),
    (0, "HSET h a 1 b 2"),
    (0, "HRANDFIELD h -3 WITHVALUES"),
    (0, "CLOCK.STEP 4000"),
    (0, "CLOCK.NEXT COUNT 3"),
    (0, "TIME"),
    (1, "CONFIG SET timeout 77 maxclients 50 notify-keyspace-events KEA slowlog-log-slower-than 0"),
    (1, "NOSUCH command"),
    (0, "SLOWLOG LEN"),
    (0, "INFO errorstats"),
    (0, "INFO keyspace"),
    (1, "SELECT 3"),
    (1, "SET far v"),
    (1, "RPUSH list v"),
    (2, "PING"),
    (0, "CONFIG GET *m*"),
    (0, "DEBUG SET-ACTIVE-EXPIRE 0"),
    (0, "WATCH a"),
    (0, "INFO replication"),
    (1, "CLOCK.RESUME"),
];

/// Returns all bytes that three clients receive.
fn tape(server: &Server) -> Vec<String> {
    let mut clients = [0; 3].map(|_| Client::connect(server.addr()));
    clients[2].line("SELECT 3");
    clients[2].send_line("BLPOP list 0");
    clients[0].line("AWAIT.BLOCKED 1");
    let mut tape = Vec::new();
    let mut pending = false;
    for (who, line) in LINES {
        if line.contains("BLOCK 500") {
            clients[*who].send_line(line);
            clients[1].line("AWAIT.BLOCKED 2");
            pending = true;
            continue;
        }
        if *who == 2 {
            tape.push(clients[2].read_frame().to_string());
        }
        let reply = clients[*who].line(line);
        if !line.starts_with("CLOCK.RESUME") {
            tape.push(format!("{line}: {reply} {}", String::from_utf8_lossy(clients[*who].raw())));
        }
        if pending && line.starts_with("CLOCK.ADVANCE") {
            clients[1].line("CLOCK.ADVANCE 200");
            tape.push(clients[0].read_frame().to_string());
            pending = false;
        }
    }
    tape
}

/// Equal inputs give equal bytes, on a server that has just started and on one that was reset.
fn is_reset_to_the_initial_state(threads: usize) {
    let (server, another) = (server(threads), server(threads));
    let mut control = [&server, &another].map(|server| Client::connect(server.addr()));
    let first = tape(&another);
    assert_eq!(tape(&server), first);
    for round in 0..3 {
        assert_eq!(control[0].line("CONTROL.RESET").to_string(), "+OK");
        assert_eq!(control[0].line("AWAIT.BLOCKED 1 LIMIT 1").to_string(), "(nil)");
        assert_eq!(tape(&server), first, "{threads} threads, round {round}");
        server.reset(OtherClients::Kept);
        assert_eq!(tape(&server), first, "{threads} threads, round {round}, kept");
    }
}

#[test]
fn a_reset_server_behaves_like_a_new_one() {
    let runs = [1, 2, 4].map(|threads| thread::spawn(move || is_reset_to_the_initial_state(threads)));
    runs.into_iter().for_each(|run| run.join().expect("a thread that ends"));
}

#[test]
fn a_reset_leaves_nothing_of_the_previous_test() {
    let server = server(2);
    let mut client = Client::connect(server.addr());
    let start: Vec<String> =
        ["INFO keyspace", "CONFIG GET *", "FUNCTION STATS", "INFO replication", "PUBSUB CHANNELS"]
            .map(|line| client.line(line).to_string())
            .into();
    let run_id = |client: &mut Client| {
        let info = String::from_utf8(client.line("INFO server").as_bytes().expect("a text").to_vec())
            .expect("UTF-8");
        info.lines().find(|line| line.starts_with("run_id:")).map(str::to_owned)
    };
    let first_id = run_id(&mut client);
    for line in [
        "SET a v",
        "SET b v PX 100",
        "EVAL 'return 1' 0",
        "FUNCTION LOAD \"#!lua name=l\nredis.register_function('f', function() return 1 end)\"",
        "LOCK.ACQUIRE l me PX 1000",
        "CONFIG SET requirepass secret maxmemory 1gb bind 127.0.0.1 save '1 2' slowlog-log-slower-than 0",
        "DEBUG CHANGE-REPL-ID",
        "CLOCK.STEP 77",
        "CLOCK.RESUME",
        "CLIENT SETNAME tester",
    ] {
        assert!(!client.line(line).is_error(), "{line}");
    }
    let before = monotonic(&mut client);
    let id = client.line("CLIENT ID").as_int().expect("a number");
    assert_eq!(client.line("CONTROL.RESET").to_string(), "+OK");
    let end: Vec<String> =
        ["INFO keyspace", "CONFIG GET *", "FUNCTION STATS", "INFO replication", "PUBSUB CHANNELS"]
            .map(|line| client.line(line).to_string())
            .into();
    assert_eq!(end, start);
    assert_eq!(run_id(&mut client), first_id);
    assert!(
        client.line("EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0").to_string().contains("NOSCRIPT")
    );
    for (line, answer) in [
        ("FUNCTION LIST", "[]".to_owned()),
        ("SLOWLOG LEN", ":0".to_owned()),
        ("TIME", format!("[\"{}\", \"0\"]", START_MS / 1000)),
        ("CLIENT GETNAME", "\"tester\"".to_owned()),
        ("CLIENT ID", format!(":{id}")),
        ("DBSIZE", ":0".to_owned()),
    ] {
        assert_eq!(client.line(line).to_string(), answer, "{line}");
    }
    assert!(client.line("LOCK.ACQUIRE l me PX 1000").to_string().contains("\"token\", :1"));
    assert!(client.line("CLOCK.INFO").to_string().contains("\"mode\", \"manual\""));
    assert!(monotonic(&mut client) >= before, "waits never begin before they did");
    let mut next = Client::connect(server.addr());
    assert_eq!(
        next.line("CLIENT ID").as_int().expect("a number"),
        id + 1,
        "no password, and no number given twice"
    );
    let stats = String::from_utf8(next.line("INFO commandstats").as_bytes().expect("a text").to_vec())
        .expect("UTF-8");
    assert!(stats.contains("cmdstat_control.reset:calls=1,") && !stats.contains("cmdstat_set:"), "{stats}");
}

fn monotonic(client: &mut Client) -> i64 {
    let info = client.line("CLOCK.INFO").into_elements().expect("a map");
    info[5].as_int().expect("a number")
}

/// The effect of a reset on the other clients.
fn others(threads: usize) {
    let server = server(threads);
    let mut main = Client::connect(server.addr());
    let [mut waiter, mut listener, mut watcher, mut locker] =
        [0; 4].map(|_| Client::connect_with(server.addr(), Protocol::Resp2));
    waiter.line("CLIENT SETNAME pool");
    waiter.send_line("BLPOP list 0");
    locker.send_line("LOCK.ACQUIRE l me PX 100 BLOCK 0");
    main.line("AWAIT.BLOCKED 1");
    listener.line("SUBSCRIBE c");
    watcher.line("WATCH k");
    watcher.line("MULTI");
    watcher.line("SET k v");
    locker.read_reply();
    assert_eq!(main.line("CONTROL.RESET KEEPCLIENTS").to_string(), "+OK");
    assert_eq!(waiter.read_reply().to_string(), "(nil)");
    assert_eq!(main.line("RPUSH list v").to_string(), ":1");
    assert_eq!(main.line("LLEN list").to_string(), ":1", "nobody waits for it any more");
    assert_eq!(waiter.line("CLIENT GETNAME").to_string(), "\"pool\"");
    assert_eq!(watcher.line("EXEC").to_string(), "(nil)");
    assert_eq!(watcher.line("SET k v").to_string(), "+OK");
    assert_eq!(main.line("PUBLISH c m").to_string(), ":1");
    assert_eq!(listener.read_push().to_string(), "[\"message\", \"c\", \"m\"]");
    waiter.send_line("BLPOP other 0");
    main.line("AWAIT.BLOCKED 1");
    assert_eq!(main.line("CONTROL.RESET").to_string(), "+OK");
    for mut client in [waiter, listener, watcher, locker] {
        assert_eq!(client.read_to_close(), b"");
    }
    assert_eq!(main.line("PUBLISH c m").to_string(), ":0");
    server.reset(OtherClients::Disconnected);
    assert_eq!(main.read_to_close(), b"");
}

#[test]
fn other_clients_are_disconnected_or_kept() {
    let runs = [1, 2, 4].map(|threads| thread::spawn(move || others(threads)));
    runs.into_iter().for_each(|run| run.join().expect("a thread that ends"));
}

#[test]
fn a_reset_resumes_a_clock_that_ran_at_the_start() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    for line in ["CLOCK.ADVANCE 3600000", "CLOCK.FREEZE", "CLOCK.STEP -5000", "CONTROL.RESET"] {
        client.line(line);
    }
    let info = client.line("CLOCK.INFO").to_string();
    assert!(info.contains("\"mode\", \"real\"") && info.contains("\"offset\", :0"), "{info}");
    client.line("SET k v PX 20");
    assert_eq!(client.line("AWAIT.KEY k GONE").to_string(), ":1");
}

#[test]
fn control_reset_is_refused_in_transactions() {
    let mut s = ours::manual_scenario();
    s.check("MULTI", "+OK").check("CONTROL.RESET", "-ERR Command not allowed inside a transaction");
    s.check("DISCARD", "+OK").check("CONTROL.RESET", "+OK").check("CONTROL.RESET KEEPCLIENTS", "+OK");
    s.check_that("CONTROL.HELP", |help| help.to_string().contains("CONTROL.RESET [KEEPCLIENTS]"));
    let mut config = Config::default();
    config.control = false;
    let server = Server::builder().config(config).port(0).start().expect("loopback has a free port");
    let refused = Client::connect(server.addr()).line("CONTROL.RESET");
    assert!(refused.to_string().starts_with("-ERR unknown command"), "{refused}");
}
