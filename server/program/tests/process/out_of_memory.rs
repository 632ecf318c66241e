//! Writes for which there is no memory left. Each is refused as a whole, and nothing changes.

use crate::harness::{Client, Directory, Process};
use crate::memory::{CLOSED, NO_MEMORY, limited_to, limited_with_errors_to, outcome, send, short_of_memory};
use std::fs::{self, File};
use std::io::Write;

/// The length of the large word of a request, in bytes. The word is written `V`.
const LARGE: usize = 4 << 20;

/// Starts a server with memory for one more request with a large word, but not for storing its data.
fn full() -> Process {
    let process = short_of_memory();
    let large = vec![b'x'; LARGE];
    fill(|n| outcome(&process, &[b"SETRANGE", format!("a{n}").as_bytes(), b"67108864", b"x"]));
    fill(|n| outcome(&process, &[b"SET", format!("b{n}").as_bytes(), &large]));
    process
}

fn fill(write: impl Fn(usize) -> String) {
    let refused = (0..1000).map(write).find(|outcome| !outcome.starts_with([':', '+']));
    assert_eq!(refused.as_deref(), Some(NO_MEMORY));
}

fn words<'a>(line: &'a str, large: &'a [u8]) -> Vec<&'a [u8]> {
    line.split(' ').map(|word| if word == "V" { large } else { word.as_bytes() }).collect()
}

#[test]
fn a_write_without_memory_creates_no_key() {
    let (process, large) = (full(), vec![b'x'; LARGE]);
    for line in [
        "SET k V",
        "SETNX k V",
        "GETSET k V",
        "APPEND k V",
        "MSET k 1 other V",
        "MSETNX k 1 other V",
        "HSET k f V",
        "HSET k f 1 V v",
        "HSETNX k f V",
        "SADD k V",
        "SADD k a V",
        "ZADD k 1 V",
        "ZADD k 1 a 2 V",
        "GEOADD k 1 1 V",
        "RPUSH k V",
        "RPUSH k a V",
        "LPUSH k a V",
        "XADD k * f V",
        "XADD k * V v",
    ] {
        assert_eq!(outcome(&process, &words(line, &large)), NO_MEMORY, "{line}");
        assert_eq!(process.client().ask("EXISTS k other"), ":0", "after {line}");
    }
}

#[test]
fn a_write_without_memory_leaves_its_key_unchanged() {
    let (process, large) = (full(), vec![b'x'; LARGE]);
    let mut client = process.client();
    let made =
        ["RPUSH l a b c", "HSET h f 1 g 2", "SADD s a b", "ZADD z 1 a 2 b", "XADD x 1-1 f v", "SET t text"];
    made.iter().for_each(|line| _ = client.ask(line));
    let keys = "DEBUG DIGEST-VALUE l h s z x t u";
    let before = outcome(&process, &words(keys, b""));
    for line in [
        "RPUSH l d V",
        "LPUSH l d V",
        "RPUSHX l d V",
        "LINSERT l BEFORE b V",
        "LSET l 1 V",
        "HSET h f 3 i V",
        "HSET h f V",
        "SADD s c V",
        "SMOVE s z V",
        "ZADD z 3 c 4 V",
        "XADD x 2-1 f V",
        "APPEND t V",
        "SET t V",
        "MSET t 1 u V",
        "PUBLISH c V",
    ] {
        assert_eq!(outcome(&process, &words(line, &large)), NO_MEMORY, "{line}");
        assert_eq!(outcome(&process, &words(keys, b"")), before, "after {line}");
    }
    // A command that only removes data needs no memory.
    for line in ["LREM l 0 V", "SREM s V", "HDEL h V", "DEL V"] {
        assert_eq!(outcome(&process, &words(line, &large)), ":0", "{line}");
    }
}

/// Sends unfinished requests, each from its own client, until there is no memory to receive more.
fn fill_with_requests(process: &Process) -> Vec<Client> {
    let part = vec![b'x'; 1 << 20];
    let mut clients = Vec::new();
    loop {
        let mut client = process.client();
        client.send("*2\r\n$4\r\nECHO\r\n$2097152");
        let is_sent = client.0.get_mut().write_all(&part).is_ok();
        if !is_sent || process.client().ask("CLIENT LIST").matches(" qbuf=").count() < clients.len() + 2 {
            return clients;
        }
        clients.push(client);
    }
}

#[test]
fn a_key_is_not_renamed_without_memory() {
    let process = short_of_memory();
    let mut control = process.client();
    control.ask("SET t text");
    fill(|n| outcome(&process, &[b"SETRANGE", format!("a{n}").as_bytes(), b"67108864", b"x"]));
    assert_eq!(control.ask("DEL a0 a1"), ":2");
    // The request is received while there is memory, and runs when there is none.
    assert_eq!(control.ask("CLIENT PAUSE 600000 WRITE"), "+OK");
    let mut client = process.client();
    send(&mut client, &[b"RENAME", b"t", &vec![b'x'; 16 << 20]]);
    let _unfinished = fill_with_requests(&process);
    assert_eq!(control.ask("CLIENT UNPAUSE"), "+OK");
    assert_eq!(client.read(), NO_MEMORY);
    assert_eq!(control.ask("GET t"), "text");
}

#[test]
fn a_transaction_without_memory_does_nothing() {
    let process = full();
    // Queueing does not check the memory, so the transaction is refused as a whole.
    let part = vec![b'x'; 256 << 10];
    let is_refused = (1..33).any(|parts| {
        let mut client = process.client();
        client.ask("MULTI");
        client.ask("SET first 1");
        for _ in 0..parts {
            send(&mut client, &[b"RPUSH", b"k", &part]);
            client.read();
        }
        let outcome = client.ask("EXEC");
        let has_run = !outcome.starts_with('-');
        let expected = if has_run { ":2" } else { ":0" };
        assert_eq!(process.client().ask("DEL first k"), expected, "{parts} parts: {outcome}");
        outcome == "-EXECABORT Transaction discarded because of: OOM Insufficient memory"
    });
    assert!(is_refused);
}

/// Returns bytes that no compression makes shorter.
fn random(len: usize) -> Vec<u8> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// Waits until a replica has all data of its master, and compares both.
#[track_caller]
fn check_replica(master: &Process, replica: &Process) {
    let mut client = master.client();
    assert_eq!(client.ask("SET mark 1"), "+OK");
    assert_eq!(client.ask("WAIT 1 0"), ":1");
    assert_eq!(replica.client().ask("DEBUG DIGEST"), client.ask("DEBUG DIGEST"));
}

/// The address space of a process whose data goes to replicas, in KiB: it bounds the tests' memory and time.
const SMALL_KIB: &str = "700000";
const ERROR_CODES: usize = 128;
const PIECES: usize = 300;

/// Fills the memory of such a process, except for a few megabytes.
fn fill_small(process: &Process) {
    let mut client = process.client();
    let mut fill = |n| client.ask(&format!("SETRANGE a{n} 4194304 x"));
    assert_eq!((0..PIECES).map(&mut fill).find(|outcome| outcome != ":4194305").as_deref(), Some(NO_MEMORY));
}

/// Commands that combine sets or sorted sets into one: the beginning, and the letter of the keys.
const COMBINING: &[(&str, char)] = &[
    ("ZUNIONSTORE new 8", 'z'),
    ("ZINTERSTORE new 1", 'z'),
    ("ZDIFFSTORE new 8", 'z'),
    ("ZUNION 8", 'z'),
    ("SUNIONSTORE new", 's'),
    ("SDIFFSTORE new", 's'),
    ("SUNION", 's'),
    ("ZRANGESTORE new", 'z'),
    ("SORT", 's'),
];

#[test]
fn a_combination_of_sets_without_memory_stores_nothing() {
    const SETS: usize = 8;
    const FREED: [usize; 4] = [0, 2, 3, 5];
    let process = limited_to(SMALL_KIB);
    let add = "for n = 1, 25000 do redis.call('ZADD', KEYS[1], n, KEYS[1] .. ':member:' .. n) \
               redis.call('SADD', KEYS[2], KEYS[2] .. ':member:' .. n) end return 1";
    for set in 0..SETS {
        let keys = [format!("z{set}"), format!("s{set}")];
        let words = [b"EVAL", add.as_bytes(), b"2", keys[0].as_bytes(), keys[1].as_bytes()];
        assert_eq!(outcome(&process, &words), ":1");
    }
    fill_small(&process);
    let (mut freed, mut failed) = (0, 0);
    for pieces in FREED {
        (freed..freed + pieces).for_each(|n| _ = process.client().ask(&format!("DEL a{n}")));
        freed += pieces;
        for (command, kind) in COMBINING {
            let sets = match *command {
                "ZRANGESTORE new" => "z0 0 -1".to_owned(),
                "SORT" => "s0 ALPHA STORE new".to_owned(),
                "ZINTERSTORE new 1" => "z0".to_owned(),
                _ => (0..SETS).map(|set| format!("{kind}{set}")).collect::<Vec<_>>().join(" "),
            };
            let outcome = outcome(&process, &words(&format!("{command} {sets}"), b""));
            let has_failed = outcome == NO_MEMORY || outcome == CLOSED;
            assert!(has_failed || outcome.starts_with([':', '*']), "{command}: {outcome}");
            failed += usize::from(has_failed);
            let kept = process.client().ask("DEL new");
            assert!(!has_failed || kept == ":0", "{command} has stored a part");
        }
    }
    assert!(failed > 0, "there was memory for all of them");
}

#[test]
fn a_replica_misses_no_change_when_its_master_runs_out_of_memory() {
    check_change_without_memory(&random(1 << 20));
}

#[test]
fn a_replica_misses_no_compressed_text_when_its_master_runs_out_of_memory() {
    let mut text = random(1 << 20);
    text.chunks_mut(64).for_each(|chunk| chunk[48..].fill(b'x'));
    check_change_without_memory(&text);
}

/// Changes a hash of 32 such texts when there is no memory to propagate the hash to a replica.
fn check_change_without_memory(part: &[u8]) {
    let (master, replica) = (limited_to(SMALL_KIB), Process::start(&["--enable-debug-command", "yes"]));
    for field in 0..32 {
        assert_eq!(outcome(&master, &[b"HSET", b"large", &[field], part]), ":1");
    }
    assert_eq!(replica.client().ask(&format!("REPLICAOF 127.0.0.1 {}", master.port)), "+OK");
    check_replica(&master, &replica);
    fill_small(&master);
    // Redis 7.0 lacks the command, so the whole hash is propagated to replicas.
    assert_eq!(master.client().ask("HSETEX large FIELDS 1 new 1"), ":1");
    (0..PIECES).for_each(|n| _ = master.client().ask(&format!("DEL a{n}")));
    check_replica(&master, &replica);
    assert!(master.client().ask("INFO stats").contains("\nsync_full:2"));
}

#[test]
fn a_replica_without_memory_for_a_change_asks_for_a_snapshot() {
    let directory = Directory::new();
    let errors = directory.file("errors");
    let file = File::create(&errors).expect("the directory can be written");
    let (master, replica) =
        (Process::start(&["--enable-debug-command", "yes"]), limited_with_errors_to(SMALL_KIB, file.into()));
    assert_eq!(replica.client().ask(&format!("REPLICAOF 127.0.0.1 {}", master.port)), "+OK");
    check_replica(&master, &replica);
    assert_eq!(replica.client().ask("CONFIG SET replica-read-only no"), "+OK");
    // The error statistics have no room for another code.
    for code in 0..ERROR_CODES {
        replica.client().ask(&format!("EVAL \"return redis.error_reply('C{code} text')\" 0"));
    }
    fill_small(&replica);
    assert_eq!(master.client().ask("SETRANGE large 41943040 x"), ":41943041");
    while !master.client().ask("INFO stats").contains("\nsync_full:2") {}
    assert_eq!(replica.client().ask("EXISTS large"), ":0");
    // The allocator must not try to start a thread over and over.
    let said = String::from_utf8_lossy(&fs::read(&errors).expect("the file is there")).into_owned();
    assert!(!said.contains("background thread"), "{} bytes", said.len());
}

#[test]
fn members_are_removed_without_memory_for_a_smaller_table() {
    const MEMBERS: usize = 1_100_000;
    const BATCH: usize = 500;
    let process = limited_to(SMALL_KIB);
    let add = "for n = 0, ARGV[1] - 1 do redis.call('SADD', KEYS[1], 'm' .. n) end return 1";
    let count = MEMBERS.to_string();
    assert_eq!(outcome(&process, &[b"EVAL", add.as_bytes(), b"1", b"s", count.as_bytes()]), ":1");
    let filling = vec![b'x'; 1 << 20];
    fill(|n| outcome(&process, &[b"SET", format!("f{n}").as_bytes(), &filling]));
    let mut client = process.client();
    for from in (0..MEMBERS).step_by(BATCH) {
        let members: String = (from..from + BATCH).map(|n| format!(" m{n}")).collect();
        assert_eq!(client.ask(&format!("SREM s{members}")), format!(":{BATCH}"), "from {from} on");
    }
    assert_eq!(client.ask("EXISTS s"), ":0");
}

#[test]
fn a_server_survives_scripts_without_memory_for_their_errors() {
    let process = short_of_memory();
    // Each round leaves less memory than the one before, and each script runs with both lengths.
    for round in 0..4 {
        let scripts = [
            "error(string.rep('x', LEN))",
            "error({err = string.rep('x', LEN)})",
            "return redis.error_reply(string.rep('x', LEN))",
            "return {err = string.rep('x', LEN) .. string.char(10)}",
            "return {ok = string.rep('x', LEN) .. string.char(10)}",
            "return _G[string.rep('x', LEN)]",
            "return cjson.encode_invalid_numbers(string.rep('x', LEN))",
            "redis.setresp(string.rep('x', LEN))",
        ];
        for (script, megabytes) in scripts.into_iter().zip([60, 110].into_iter().cycle().skip(round % 2)) {
            let script = script.replace("LEN", &(megabytes << 20).to_string());
            outcome(&process, &[b"EVAL", script.as_bytes(), b"0"]);
            assert_eq!(process.client().ask("PING"), "+PONG", "after {script} in round {round}");
        }
        outcome(&process, &[b"SETRANGE", format!("a{round}").as_bytes(), b"200000000", b"x"]);
    }
    let library = "#!lua name=large\nerror({err = string.rep('x', 60000000)})";
    outcome(&process, &[b"FUNCTION", b"LOAD", library.as_bytes()]);
    assert_eq!(process.client().ask("PING"), "+PONG");
}

fn pending(process: &Process) -> Vec<(String, String)> {
    let reply = process.client().ask("XPENDING x g - + 9");
    let words: Vec<&str> = reply.split(' ').collect();
    words.chunks(4).map(|entry| (entry[0].to_owned(), entry[3].to_owned())).collect()
}

#[test]
fn an_entry_without_memory_for_its_delivery_is_not_delivered() {
    let (master, replica) = (limited_to(SMALL_KIB), Process::start(&["--enable-debug-command", "yes"]));
    let large = random(48 << 20);
    let add = |id: &[u8], value: &[u8]| outcome(&master, &[b"XADD", b"x", id, b"f", value]);
    assert_eq!((add(b"1-1", b"v"), add(b"2-1", &large)), ("$3".to_owned(), "$3".to_owned()));
    assert_eq!(master.client().ask("XGROUP CREATE x g 0"), "+OK");
    assert_eq!(replica.client().ask(&format!("REPLICAOF 127.0.0.1 {}", master.port)), "+OK");
    check_replica(&master, &replica);
    let fill_all = || {
        fill(|n| outcome(&master, &[b"SETRANGE", format!("b{n}").as_bytes(), b"33554432", b"x"]));
        fill_small(&master);
    };
    let free = || (0..PIECES).for_each(|n| _ = master.client().ask(&format!("DEL a{n} b{n}")));
    fill_all();
    assert_eq!(outcome(&master, &words("XREADGROUP GROUP g c STREAMS x >", b"")), CLOSED);
    free();
    check_replica(&master, &replica);
    assert_eq!(pending(&master), [("1-1".to_owned(), ":1".to_owned())]);
    assert_eq!(pending(&replica), pending(&master));
    let mut reader = master.client();
    assert!(reader.ask("XREADGROUP GROUP g c STREAMS x >").starts_with("x 2-1 f "));
    assert_eq!(reader.ask("PING"), "+PONG");
    fill_all();
    assert_eq!(outcome(&master, &words("XREADGROUP GROUP g c STREAMS x 0", b"")), CLOSED);
    free();
    check_replica(&master, &replica);
    let delivered = [("1-1".to_owned(), ":2".to_owned()), ("2-1".to_owned(), ":1".to_owned())];
    assert_eq!(pending(&master), delivered);
    assert_eq!(pending(&replica), delivered);
}
