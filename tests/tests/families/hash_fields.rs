//! Fields of hashes at their deadlines, on a manual clock. Each is gone at its instant, with its event and all
//! consequences of a change.

use lockwheel::{Server, Version};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::rdb::sealed;
use lockwheel_tests::redis_server::{Kind, RealServer};

/// A server whose clock stands at a whole number of seconds, a client, and a subscriber to all keyspace events.
fn begin() -> (Server, Client, Client) {
    let server = ours::manual_server();
    let [mut client, mut listener] = [0; 2].map(|_| Client::connect(server.addr()));
    client.line("CLOCK.SET 1000000000000");
    client.line("CONFIG SET notify-keyspace-events EA");
    listener.line("PSUBSCRIBE *");
    (server, client, listener)
}

/// Returns the events since the last call, each with its key.
fn take_events(client: &mut Client, listener: &mut Client) -> Vec<String> {
    client.line("PUBLISH end end");
    let mut events = Vec::new();
    loop {
        let message = listener.read_frame().into_elements().expect("a message");
        let text = |at: usize| String::from_utf8_lossy(message[at].as_bytes().expect("a text")).into_owned();
        let (channel, content) = (text(2), text(3));
        if channel == "end" {
            return events;
        }
        if !channel.starts_with("__keyevent") {
            continue;
        }
        events.push(format!("{} {content}", channel.trim_start_matches("__keyevent@0__:")));
    }
}

/// Sends lines and requires their answers.
#[track_caller]
fn check(client: &mut Client, lines: &[(&str, &str)]) {
    for (line, answer) in lines {
        assert_eq!(client.line(line).to_string(), *answer, "{line}");
    }
}

#[test]
fn a_field_expires_at_its_millisecond() {
    let (_server, mut client, mut listener) = begin();
    check(
        &mut client,
        &[
            ("HSET h a 1 b 2 c 3 d 4", ":4"),
            ("HPEXPIRE h 5 FIELDS 2 a b", "[:1, :1]"),
            ("HPEXPIRE h 7 FIELDS 1 c", "[:1]"),
            ("SET k v PX 5", "+OK"),
            ("HPEXPIRE h 5 FIELDS 1 b", "[:1]"),
        ],
    );
    take_events(&mut client, &mut listener);
    client.line("CLOCK.ADVANCE 4");
    check(&mut client, &[("HLEN h", ":4"), ("HPTTL h FIELDS 4 a b c d", "[:1, :1, :3, :-1]")]);
    assert_eq!(take_events(&mut client, &mut listener), Vec::<String>::new());
    client.line("CLOCK.ADVANCE 1");
    assert_eq!(take_events(&mut client, &mut listener), ["hexpired h", "expired k"]);
    check(&mut client, &[("HKEYS h", "[\"d\", \"c\"]"), ("HGET h a", "(nil)"), ("EXISTS k", ":0")]);
    client.line("CLOCK.NEXT");
    assert_eq!(take_events(&mut client, &mut listener), ["hexpired h"]);
    check(&mut client, &[("HGETALL h", "[\"d\", \"4\"]"), ("OBJECT ENCODING h", "\"hashtable\"")]);
}

#[test]
fn a_hash_is_deleted_with_its_last_field() {
    let (_server, mut client, mut listener) = begin();
    check(
        &mut client,
        &[
            ("HSETEX h PX 3 FIELDS 1 a 1", ":1"),
            ("HSETEX h PX 6 FIELDS 1 b 1", ":1"),
            ("HSETEX other PX 6 FIELDS 2 a 1 b 1", ":1"),
        ],
    );
    take_events(&mut client, &mut listener);
    let advanced = client.line("CLOCK.ADVANCE 10").to_string();
    assert!(advanced.contains(":3"), "three instants of hashes: {advanced}");
    let told = ["hexpired h", "hexpired h", "del h", "hexpired other", "del other"];
    let mut events = take_events(&mut client, &mut listener);
    events[1..].sort();
    let mut told = told.map(str::to_owned);
    told[1..].sort();
    assert_eq!(events, told);
    check(&mut client, &[("DBSIZE", ":0"), ("HGETALL h", "[]")]);
}

#[test]
fn deadlines_follow_their_hash() {
    let (_server, mut client, _) = begin();
    check(
        &mut client,
        &[
            ("HSETEX a PX 5 FIELDS 1 f 1", ":1"),
            ("RENAME a b", "+OK"),
            ("COPY b c", ":1"),
            ("MOVE b 1", ":1"),
            ("HSETEX d PX 5 FIELDS 1 f 1", ":1"),
            ("SWAPDB 0 2", "+OK"),
            ("DBSIZE", ":0"),
            ("SWAPDB 0 2", "+OK"),
            ("DBSIZE", ":2"),
            ("HSETEX e PX 5 FIELDS 1 f 1", ":1"),
            ("SET e v", "+OK"),
            ("HSETEX g PX 5 FIELDS 1 f 1", ":1"),
            ("HSET g f 2", ":0"),
            ("DEBUG RELOAD", "+OK"),
        ],
    );
    client.line("CLOCK.ADVANCE 5");
    check(
        &mut client,
        &[("DBSIZE", ":2"), ("GET e", "\"v\""), ("HGET g f", "\"2\""), ("SELECT 1", "+OK"), ("DBSIZE", ":0")],
    );
}

#[test]
fn an_expired_field_notifies_watchers_and_waiters() {
    let (server, mut client, _) = begin();
    let mut other = Client::connect(server.addr());
    check(
        &mut client,
        &[("HSETEX h PX 5 FIELDS 1 a 1", ":1"), ("HSET h b 1", ":1"), ("WATCH h", "+OK"), ("MULTI", "+OK")],
    );
    other.line("CLOCK.ADVANCE 5");
    check(&mut client, &[("PING", "+QUEUED"), ("EXEC", "(nil)")]);
}

/// Redisson's lock of a thread is a field of a hash.
#[test]
fn a_hold_whose_field_expires_is_lost() {
    let (server, mut client, _) = begin();
    let owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    check(
        &mut client,
        &[(
            &format!("LOCK.ACQUIRE lock {owner} PX 1000")
                .replace("LOCK.ACQUIRE", "HINCRBY")
                .replace(" PX 1000", " 1"),
            ":1",
        )],
    );
    client.line(&format!("HPEXPIRE lock 5 FIELDS 1 {owner}"));
    let mut waiter = Client::connect(server.addr());
    waiter.send_line("LOCK.ACQUIRE lock waiter BLOCK 1000 PX 50");
    client.line("AWAIT.WAITERS lock 1 TIMEOUT 5000");
    client.line("CLOCK.ADVANCE 5");
    let granted = waiter.read_frame().to_string();
    assert!(granted.contains("token"), "{granted}");
}

#[test]
fn dump_and_restore_keep_the_deadlines_of_fields() {
    let (_server, mut client, _) = begin();
    client.line("HSETEX h PXAT 1000000000100 FIELDS 1 a 1");
    client.line("HSETEX h PXAT 9223372036854775807 FIELDS 1 b 2");
    client.line("HSET h c 3");
    let dump = client.cmd(&["DUMP", "h"]);
    let dump = dump.as_bytes().expect("bytes").to_vec();
    assert_eq!((dump[0], dump[dump.len() - 10]), (24, 12));
    assert_eq!(client.cmd(&[&b"RESTORE"[..], b"copy", b"0", &dump]).to_string(), "+OK");
    check(
        &mut client,
        &[("HPEXPIRETIME copy FIELDS 3 a b c", "[:1000000000100, :9223372036854775807, :-1]")],
    );
    client.line("CLOCK.ADVANCE 100");
    check(&mut client, &[("HLEN copy", ":2")]);
    // A deadline in the past takes effect before the command has ended.
    assert_eq!(client.cmd(&[&b"RESTORE"[..], b"late", b"0", &dump]).to_string(), "+OK");
    check(&mut client, &[("HLEN late", ":2")]);
}

#[test]
fn payloads_of_valkey_are_read() {
    let Some(real) = RealServer::start(Kind::Valkey, &[]) else { return };
    let server = ours::server();
    let [mut real, mut client] = [real.addr(), server.addr()].map(Client::connect);
    real.line("HSETEX h EXAT 4102444800 FIELDS 2 a 1 b 2");
    real.line("HSET h c 3");
    let dump = real.cmd(&["DUMP", "h"]).as_bytes().expect("bytes").to_vec();
    for len in 0..dump.len() {
        let reply = client.cmd(&[&b"RESTORE"[..], b"h", b"0", &dump[..len]]);
        assert!(reply.is_error(), "{len}");
    }
    assert_eq!(client.cmd(&[&b"RESTORE"[..], b"h", b"0", &dump]).to_string(), "+OK");
    check(&mut client, &[("HEXPIRETIME h FIELDS 3 a b c", "[:4102444800, :4102444800, :-1]")]);
}

/// The version of Redis 7.4's format.
const VERSION_OF_7_4: u16 = 12;

/// Encodes a short string as it stands in a payload.
fn short(text: &[u8]) -> Vec<u8> {
    [&[text.len() as u8][..], text].concat()
}

/// Encodes a listpack of short texts and of integers as a string of a payload.
fn listpack(words: &[Result<i64, &str>]) -> Vec<u8> {
    let mut entries = Vec::new();
    for word in words {
        let entry = match word {
            Ok(number) => [&[0xf4][..], &number.to_le_bytes()].concat(),
            Err(text) => [&[0x80 | text.len() as u8][..], text.as_bytes()].concat(),
        };
        entries.extend_from_slice(&entry);
        entries.push(entry.len() as u8);
    }
    let len = entries.len() as u32 + 7;
    let all = [&len.to_le_bytes()[..], &(words.len() as u16).to_le_bytes(), &entries, &[0xff]].concat();
    // The length in 14 bits.
    [&[0x40 | (all.len() >> 8) as u8, all.len() as u8][..], &all].concat()
}

/// Redis 7.4's small hash with deadlines: the earliest, and a listpack.
fn in_a_listpack(words: &[Result<i64, &str>]) -> Vec<u8> {
    [&[25][..], &4_102_444_800_000_u64.to_le_bytes(), &listpack(words)].concat()
}

/// Redis 7.4's large hash with deadlines: the earliest one, and for each field the offset of its own.
fn in_a_table(first_ms: u64, fields: &[(u8, &str, &str)]) -> Vec<u8> {
    let fields = fields.iter().map(|(later, field, value)| {
        [&[*later][..], &short(field.as_bytes()), &short(value.as_bytes())].concat()
    });
    let fields: Vec<Vec<u8>> = fields.collect();
    [&[24][..], &first_ms.to_le_bytes(), &[fields.len() as u8], &fields.concat()].concat()
}

#[test]
fn payloads_of_redis_7_4_are_read() {
    let (_server, mut client, _) = begin();
    let at_ms = 4_102_444_800_000;
    let small = in_a_listpack(&[
        Err("a"),
        Ok(1),
        Ok(at_ms),
        Err("b"),
        Err("2"),
        Ok(at_ms + 9),
        Err("c"),
        Err("3"),
        Ok(0),
    ]);
    let large = in_a_table(at_ms as u64, &[(1, "a", "1"), (10, "b", "2"), (0, "c", "3")]);
    for body in [small, large] {
        let payload = sealed(&body, VERSION_OF_7_4);
        assert_eq!(client.cmd(&[&b"RESTORE"[..], b"h", b"0", &payload, b"REPLACE"]).to_string(), "+OK");
        check(
            &mut client,
            &[
                ("HPEXPIRETIME h FIELDS 3 a b c", "[:4102444800000, :4102444800009, :-1]"),
                ("HMGET h a b c", "[\"1\", \"2\", \"3\"]"),
            ],
        );
        for len in 0..body.len() {
            let payload = sealed(&body[..len], VERSION_OF_7_4);
            let reply = client.cmd(&[&b"RESTORE"[..], b"cut", b"0", &payload]);
            assert_eq!(reply.to_string(), "-ERR Bad data format", "{len}");
        }
    }
}

#[test]
fn damaged_payloads_of_redis_7_4_are_refused() {
    let (_server, mut client, _) = begin();
    let last = i64::MAX as u64;
    for body in [
        in_a_listpack(&[]),
        in_a_listpack(&[Err("a"), Ok(1)]),
        in_a_listpack(&[Err("a"), Ok(1), Ok(-1)]),
        in_a_listpack(&[Err("a"), Ok(1), Err("soon")]),
        in_a_listpack(&[Err("a"), Ok(1), Ok(0), Err("a"), Ok(2), Ok(0)]),
        in_a_table(5, &[]),
        in_a_table(last, &[(2, "a", "1")]),
        in_a_table(u64::MAX, &[(1, "a", "1")]),
        in_a_table(u64::MAX, &[(2, "a", "1")]),
        in_a_table(5, &[(1, "a", "1"), (1, "a", "2")]),
        // The payload announces more fields than there are.
        [&[24][..], &5_u64.to_le_bytes(), &[0x80, 0xff, 0xff, 0xff, 0xff]].concat(),
        [&[25][..], &u64::MAX.to_le_bytes(), &listpack(&[Err("a"), Ok(1), Ok(5)])].concat(),
    ] {
        let reply = client.cmd(&[&b"RESTORE"[..], b"h", b"0", &sealed(&body, VERSION_OF_7_4)]);
        assert_eq!(reply.to_string(), "-ERR Bad data format", "{body:?}");
    }
    check(&mut client, &[("DBSIZE", ":0")]);
}

/// A payload with any one byte changed is refused, or becomes a hash like any other.
#[test]
fn no_changed_byte_does_harm() {
    let (_server, mut client, _) = begin();
    let table = in_a_table(4_102_444_800_000, &[(1, "a", "1"), (10, "b", "2"), (0, "c", "3")]);
    for body in [in_a_listpack(&[Err("a"), Ok(1), Ok(9), Err("c"), Err("3"), Ok(0)]), table] {
        for (at, byte) in (1..body.len()).flat_map(|at| [0, 1, 0x7f, 0x80, 0xc0, 0xff].map(|byte| (at, byte)))
        {
            let mut changed = body.clone();
            changed[at] = byte;
            let payload = sealed(&changed, VERSION_OF_7_4);
            client.cmd(&[&b"RESTORE"[..], b"h", b"0", &payload, b"REPLACE"]);
            for line in ["HGETALL h", "DUMP h", "HPERSIST h FIELDS 1 a", "DEBUG LOADAOF", "DEL h"] {
                let reply = client.line(line);
                assert!(!reply.is_error(), "{at} {byte} {line}: {reply}");
            }
        }
    }
}

#[test]
fn deadlines_of_fields_count_in_memory_usage() {
    let (_server, mut client, _) = begin();
    client.line("HSET h a 1 b 2");
    client.line("HEXPIRE h 100 FIELDS 1 a");
    let large = client.line("MEMORY USAGE h").as_int().expect("a number");
    client.line("HPERSIST h FIELDS 1 a");
    assert!(client.line("MEMORY USAGE h").as_int().expect("a number") < large);
    client.line("HPEXPIRE h 1 FIELDS 1 a");
    assert!(client.line("INFO keyspace").to_string().contains("keys_with_volatile_items=1"));
    client.line("CLOCK.ADVANCE 1");
    let info = client.line("INFO everything").to_string();
    assert!(!info.contains("keys_with_volatile_items") && info.contains("expired_fields:1"), "{info}");
}

/// Due fields that have not been removed yet go when their hash is named. The hash then has no field with a deadline.
#[test]
fn a_request_removes_expired_fields_of_its_hash() {
    let (_server, mut client, _) = begin();
    client.line("DEBUG SET-ACTIVE-EXPIRE 0");
    check(&mut client, &[("HSET h a 1 b 2 c 3", ":3"), ("HPEXPIRE h 5 FIELDS 2 a b", "[:1, :1]")]);
    client.line("CLOCK.ADVANCE 5");
    check(
        &mut client,
        &[
            ("HGETALL h", "[\"c\", \"3\"]"),
            ("INFO keyspace", "\"# Keyspace\\r\\ndb0:keys=1,expires=0,avg_ttl=0\\r\\n\""),
            ("DEL h", ":1"),
            ("HSETEX other PX 9 FIELDS 1 a 1", ":1"),
            ("HPTTL other FIELDS 1 a", "[:9]"),
        ],
    );
    assert!(client.line("INFO keyspace").to_string().contains("keys_with_volatile_items=1"));
}

/// A million deadlines, in one hash and in many.
#[test]
fn a_million_fields_expire() {
    let (_server, mut client, _) = begin();
    let count = 200_000;
    for at in (0..count).step_by(1000) {
        let fields: String = (at..at + 1000).map(|n| format!(" f{n} v")).collect();
        client.line(&format!("HSETEX h PX {} FIELDS 1000{fields}", 1 + at / 1000));
    }
    client.line("HSET h stays 1");
    client.line("CLOCK.ADVANCE 100");
    check(&mut client, &[("HLEN h", &format!(":{}", count - 100 * 1000 + 1))]);
    client.line("CLOCK.ADVANCE 1000");
    check(&mut client, &[("HLEN h", ":1"), ("HKEYS h", "[\"stays\"]")]);
}

#[test]
fn older_versions_refuse_newer_hash_commands() {
    let server = |version| Server::builder().port(0).compat(version).start().expect("a free port");
    let unknown = |version, line: &str| {
        let [open, close, behind] = if version == Version::V6_2 { ["`", "`", ", "] } else { ["'", "'", " "] };
        let (name, rest) = line.split_once(' ').expect("arguments");
        let quoted: String = rest.split(' ').map(|word| format!("{open}{word}{close}{behind}")).collect();
        format!("-ERR unknown command {open}{name}{close}, with args beginning with: {quoted}")
    };
    for version in [Version::V6_2, Version::V7_0, Version::V7_2, Version::Newest] {
        let server = server(version);
        let mut client = Client::connect(server.addr());
        client.line("HSET h a 1");
        client.line("SET s v");
        let hexpire = client.line("HEXPIRE h 100 FIELDS 1 a").to_string();
        let newest = version == Version::Newest;
        let refused = unknown(version, "HEXPIRE h 100 FIELDS 1 a");
        assert_eq!(hexpire, if newest { "[:1]".to_owned() } else { refused }, "{version:?}");
        let ifeq = client.line("SET s w IFEQ v").to_string();
        assert_eq!(ifeq, if newest { "+OK" } else { "-ERR syntax error" }, "{version:?}");
        let script =
            client.line("EVAL \"return redis.pcall('hexpire','h','1','FIELDS','1','a')\" 0").to_string();
        assert_eq!(script.contains("Unknown Redis command"), !newest, "{script}");
        let has_conditions = version != Version::V6_2;
        let expire = client.line("EXPIRE s 100 NX").to_string();
        let arity = "-ERR wrong number of arguments for 'expire' command";
        assert_eq!(expire, if has_conditions { ":1" } else { arity }, "{version:?}");
        assert_eq!(client.line("EVAL_RO \"return 1\" 0").is_error(), !has_conditions);
        let score = client.line("ZRANK z m WITHSCORE").to_string();
        let knows = version >= Version::V7_2;
        assert_eq!(score.contains("wrong number of arguments"), !knows, "{version:?}: {score}");
        assert!(
            client.line("INFO server").to_string().contains(&format!("redis_version:{}", version.release()))
        );
        assert!(client.line("COMMAND INFO lock.acquire").to_string().contains("lock.acquire"));
        assert!(!client.line("CLOCK.INFO").is_error());
        let listed = client.line("COMMAND INFO hexpire").to_string();
        assert_eq!(listed.contains("hexpire"), newest, "{version:?}: {listed}");
    }
}

/// With 7.0's version, every command of redis-server 7.0.15 exists, and no other one of Redis'.
#[test]
fn version_7_0_has_the_commands_of_redis_server_7_0() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = Server::builder().port(0).compat(Version::V7_0).start().expect("a free port");
    let [real, ours] = [real.addr(), server.addr()].map(|address| {
        let mut client = Client::connect(address);
        let names = client.line("COMMAND LIST").into_elements().expect("names");
        let name = |reply: &lockwheel_tests::reply::Reply| {
            String::from_utf8_lossy(reply.as_bytes().expect("a name")).into_owned()
        };
        names.iter().map(name).collect::<std::collections::BTreeSet<String>>()
    });
    // Commands of our own families have a dot in their names; the protocol between nodes of a cluster is our own.
    let is_own = |name: &str| name.contains('.') || name == "cluster|gossip";
    let others: Vec<_> = ours.difference(&real).filter(|name| !is_own(name)).collect();
    assert!(others.is_empty(), "{others:?}");
    // README lists the commands that no version of ours has.
    let newest = lockwheel_tests::ours::commands();
    let mut known = std::collections::BTreeSet::new();
    for command in newest.iter() {
        known.insert(command.name.clone());
        known.extend(command.subcommands.iter().map(|sub| sub.name.clone()));
    }
    let missing: Vec<_> = real.difference(&ours).filter(|name| known.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
