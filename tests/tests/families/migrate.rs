//! MIGRATE: between our servers, from ours to real ones and back, and to faulty targets.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::rng::Rng;
use lockwheel_tests::{family, ours};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

const CONNECTING: &str = "-IOERR error or timeout connecting to the client";
const WRITING: &str = "-IOERR error or timeout writing to target instance";
const READING: &str = "-IOERR error or timeout reading to target instance";

/// A source server and a target server.
struct Way {
    source: Client,
    target: Client,
}

impl Way {
    fn between(source: &dyn Endpoint, target: &dyn Endpoint) -> Way {
        let mut way = Way { source: Client::connect(source.addr()), target: Client::connect(target.addr()) };
        way.on_source("FLUSHALL", "+OK").on_target("FLUSHALL", "+OK");
        way
    }

    /// Requires the source's answer to MIGRATE with these words behind the address.
    #[track_caller]
    fn migrate(&mut self, words: &str, expected: &str) -> &mut Way {
        let port = self.target.peer().port();
        self.on_source(&format!("MIGRATE 127.0.0.1 {port} {words}"), expected)
    }

    #[track_caller]
    fn on_source(&mut self, line: &str, expected: &str) -> &mut Way {
        assert_eq!(self.source.line(line).to_string(), expected, "source: {line}");
        self
    }

    #[track_caller]
    fn on_target(&mut self, line: &str, expected: &str) -> &mut Way {
        assert_eq!(self.target.line(line).to_string(), expected, "target: {line}");
        self
    }
}

/// Runs between two of our servers, and between ours and real ones.
fn for_each_pair(go: impl Fn(&mut Way)) {
    let (one, other) = (ours::server(), ours::server());
    go(&mut Way::between(&one, &other));
    for kind in [Kind::Redis, Kind::Valkey] {
        let Some(real) = RealServer::start(kind, &[]) else { continue };
        go(&mut Way::between(&one, &real));
        go(&mut Way::between(&real, &other));
    }
}

#[test]
fn values_of_every_type_move() {
    for_each_pair(|way| {
        for line in [
            "SET string text",
            "RPUSH list a b 3",
            "HSET hash f v g 5",
            "SADD set a b",
            "SADD integers 1 2 3",
            "ZADD zset 1.5 a -2 b",
            "XADD stream 1-1 f v",
            "XADD stream 1-2 f v",
            "XGROUP CREATE stream g 1-1",
            "PFADD sketch a b c",
        ] {
            assert!(!way.source.line(line).is_error(), "{line}");
        }
        let keys = ["string", "list", "hash", "set", "integers", "zset", "stream", "sketch"];
        // Valkey formats scores differently in its digests.
        let asks = |key: &str| match key {
            "zset" => "ZRANGE zset 0 -1 WITHSCORES".to_owned(),
            key => format!("DEBUG DIGEST-VALUE {key}"),
        };
        let told = keys.map(|key| way.source.line(&asks(key)).to_string());
        way.migrate("string 0 60000", "+OK");
        way.migrate(&format!("\"\" 0 60000 KEYS {}", keys[1..].join(" ")), "+OK");
        way.on_source("DBSIZE", ":0").on_target("DBSIZE", ":8");
        for (key, told) in keys.iter().zip(told) {
            way.on_target(&asks(key), &told);
        }
    });
}

#[test]
fn a_migrated_key_keeps_its_remaining_time() {
    for_each_pair(|way| {
        way.on_source("SET k v PX 5000000", "+OK").on_source("SET forever v", "+OK");
        way.migrate("\"\" 3 60000 KEYS k forever", "+OK").on_target("SELECT 3", "+OK");
        way.on_target("TTL forever", ":-1");
        let left = way.target.line("PTTL k").to_string();
        let left: i64 = left.strip_prefix(':').and_then(|left| left.parse().ok()).expect("a number");
        assert!((4_000_000..=5_000_000).contains(&left), "{left}");
    });
}

#[test]
fn copy_and_replace_decide_about_keys_on_both_servers() {
    for_each_pair(|way| {
        way.on_source("MSET k v other w", "+OK").on_target("SET k old", "+OK");
        let busy = "-ERR Target instance replied with error: BUSYKEY Target key name already exists.";
        way.migrate("k 0 60000", busy).on_source("GET k", "\"v\"").on_target("GET k", "\"old\"");
        // The keys that the target accepted have moved.
        way.migrate("\"\" 0 60000 KEYS k other none", busy);
        way.on_source("EXISTS k other", ":1").on_target("GET other", "\"w\"");
        way.migrate("k 0 60000 COPY REPLACE", "+OK").on_source("GET k", "\"v\"").on_target("GET k", "\"v\"");
        way.on_source("SET k new", "+OK");
        way.migrate("k 0 60000 replace", "+OK").on_source("EXISTS k", ":0").on_target("GET k", "\"new\"");
        way.migrate("k 0 60000", "+NOKEY").migrate("\"\" 0 60000 KEYS k none", "+NOKEY");
        way.migrate("\"\" 0 60000 KEYS", "+NOKEY");
        way.on_source("SET k v", "+OK");
        way.migrate("k 99 60000", "-ERR Target instance replied with error: ERR DB index is out of range");
        way.on_source("EXISTS k", ":1");
    });
}

#[test]
fn a_target_with_a_password_needs_authentication() {
    for_each_pair(|way| {
        way.on_source("SET k v", "+OK").on_target("CONFIG SET requirepass secret", "+OK");
        let refused = |text: &str| format!("-ERR Target instance replied with error: {text}");
        way.migrate("k 0 60000", &refused("NOAUTH Authentication required."));
        let wrong = "WRONGPASS invalid username-password pair or user is disabled.";
        way.migrate("k 0 60000 AUTH wrong", &refused(wrong));
        way.migrate("k 0 60000 AUTH2 nobody secret", &refused(wrong));
        way.on_source("EXISTS k", ":1").migrate("k 0 60000 COPY AUTH secret", "+OK");
        way.migrate("k 0 60000 REPLACE AUTH2 default secret", "+OK").on_source("EXISTS k", ":0");
        way.on_target("GET k", "\"v\"").on_target("CONFIG SET requirepass ''", "+OK");
    });
}

#[test]
fn many_keys_and_large_ones_move() {
    for_each_pair(|way| {
        way.on_source("DEBUG POPULATE 5000 key 30", "+OK")
            .on_source("DEBUG POPULATE 1 large 20000000", "+OK");
        let keys: Vec<String> = (0..5000).map(|number| format!("key:{number}")).collect();
        way.migrate(&format!("\"\" 0 60000 KEYS {} large:0", keys.join(" ")), "+OK");
        way.on_source("DBSIZE", ":0").on_target("DBSIZE", ":5001").on_target("STRLEN large:0", ":20000000");
    });
}

#[test]
fn migrating_publishes_a_deletion_on_the_source() {
    for_each_pair(|way| {
        let mut listener = Client::connect(way.source.peer());
        way.on_source("CONFIG SET notify-keyspace-events KEA", "+OK").on_source("SET k v", "+OK");
        listener.line("SUBSCRIBE __keyevent@0__:del");
        way.on_source("WATCH k", "+OK");
        Client::connect(way.source.peer()).line("SET k w");
        way.on_source("MULTI", "+OK").on_source("EXEC", "(nil)").on_source("WATCH k", "+OK");
        let mut other =
            Way { source: Client::connect(way.source.peer()), target: Client::connect(way.target.peer()) };
        other.migrate("k 0 60000", "+OK");
        way.on_source("MULTI", "+OK").on_source("EXEC", "(nil)").on_target("GET k", "\"w\"");
        assert_eq!(listener.read_frame().to_string(), r#"["message", "__keyevent@0__:del", "k"]"#);
    });
}

/// Starts a target that runs `answer` on each connection. Returns its port.
fn fake(answer: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    // The thread ends with the process.
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    port
}

/// Starts a target that gives this answer to every request.
fn saying(text: &'static [u8]) -> u16 {
    fake(move |mut stream| {
        let mut asked = [0; 4096];
        let said = stream.read(&mut asked).and_then(|_| stream.write_all(text));
        let ended = said.and_then(|()| stream.shutdown(Shutdown::Write));
        // If the connection closed with unread bytes, the answer would be lost.
        let _gone = ended.and_then(|()| stream.read_to_end(&mut Vec::new()));
    })
}

/// Runs on our server and on redis-server.
fn each_source(go: impl Fn(&mut Client)) {
    go(&mut Client::connect(ours::server().addr()));
    if let Some(redis) = RealServer::start(Kind::Redis, &[]) {
        go(&mut Client::connect(redis.addr()));
    }
}

#[test]
fn only_keys_that_the_target_acknowledges_are_deleted() {
    each_source(|source| {
        let error = |text: &str| format!("-ERR Target instance replied with error: {text}");
        for (said, words, expected, left) in [
            (&b"+OK\r\n+OK\r\n+OK\r\n"[..], "", "+OK".to_owned(), ""),
            (b"+OK\n+OK\n$-5\n", "", "+OK".to_owned(), ""),
            (b"+OK\r\n-ERR x y\r\n+OK\r\n", "", error("ERR x y"), "a"),
            (b"+OK\r\n+OK\r\n-ERR\0z\r\n", "", error("ERR"), "b"),
            (b"+OK\r\n-one\r\n-two\r\n", "", error("one"), "ab"),
            // The rest of the answer has no effect.
            (b"-ERR no\r\n+OK\r\n+OK\r\n", "", error("ERR no"), "ab"),
            (b"-ERR in\r\n-ERR no\r\n+OK\r\n+OK\r\n", "AUTH x", error("ERR in"), "ab"),
            (b"+OK\r\n+OK\r\n+OK\r\n+OK\r\n", "AUTH x", "+OK".to_owned(), ""),
            (b"+OK\r\n+OK\r\n", "", READING.to_owned(), "b"),
            (b"+OK\r\n+OK\r\n+OK", "", READING.to_owned(), "b"),
            (b"+OK\r\n-ERR x\r\n", "", error("ERR x"), "ab"),
            (b"-ERR no\r\n", "", READING.to_owned(), "ab"),
            (b"", "", READING.to_owned(), "ab"),
        ] {
            assert_eq!(source.line("MSET a 1 b 2").to_string(), "+OK");
            let port = saying(said);
            let line = format!("MIGRATE 127.0.0.1 {port} \"\" 0 60000 {words} KEYS a none b");
            assert_eq!(source.line(&line).to_string(), expected, "{}", said.escape_ascii());
            let there = source.line("MGET a b").to_string();
            let kept: String = ["a", "b"]
                .into_iter()
                .zip(["\"1\"", "\"2\""])
                .filter(|(_, value)| there.contains(value))
                .map(|(key, _)| key)
                .collect();
            assert_eq!(kept, left, "{}", said.escape_ascii());
        }
    });
}

#[test]
fn an_unreachable_target_is_an_error_and_keeps_the_keys() {
    let (silent, closing) = (fake(std::mem::forget), fake(drop));
    each_source(|source| {
        source.line("SET k v");
        for (target, expected) in [
            (format!("127.0.0.1 {silent} k 0 50"), READING),
            (format!("127.0.0.1 {closing} k 0 60000"), READING),
            // Nobody listens at this address.
            ("127.0.0.1 1 k 0 60000".to_owned(), WRITING),
            ("127.0.0.1 -1 k 0 60000".to_owned(), CONNECTING),
        ] {
            let mut other = Client::connect(source.peer());
            source.send_line(&format!("MIGRATE {target}"));
            assert_eq!(other.line("GET k").to_string(), "\"v\"");
            assert_eq!(source.read_reply().to_string(), expected, "{target}");
        }
        // More than the sockets' buffers hold.
        let mut rng = Rng::new(1);
        let large: Vec<u8> = (0..4_000_000).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        assert_eq!(source.cmd(&[&b"SET"[..], b"k", &large]).to_string(), "+OK");
        assert_eq!(source.line(&format!("MIGRATE 127.0.0.1 {silent} k 0 50")).to_string(), WRITING);
        assert_eq!(source.line("EXISTS k").to_string(), ":1");
    });
}

/// The server waits for itself until the timeout; the commands that it has sent by then run afterwards.
#[test]
fn migrating_to_the_server_itself_fails_at_the_timeout() {
    each_source(|source| {
        source.line("SET k v");
        let port = source.peer().port();
        assert_eq!(source.line(&format!("MIGRATE 127.0.0.1 {port} k 0 50")).to_string(), READING);
        assert_eq!(source.line("GET k").to_string(), "\"v\"");
    });
}

#[test]
fn invalid_requests_are_refused_before_anything_is_sent() {
    family::same_everywhere(|s| {
        s.check("SET k v", "+OK");
        let (syntax, number) = ("-ERR syntax error", "-ERR value is not an integer or out of range");
        let separate =
            "-ERR When using MIGRATE KEYS option, the key argument must be set to the empty string";
        for (words, expected) in [
            ("k 0", "-ERR wrong number of arguments for 'migrate' command"),
            ("k 0 10 WORD", syntax),
            ("k 0 10 AUTH", syntax),
            ("k 0 10 AUTH2 user", syntax),
            ("k 0 10 COPY KEYS a", separate),
            ("k x 10", number),
            ("k 0 x", number),
            ("none 0 0", "+NOKEY"),
            ("none 0 -5 COPY REPLACE AUTH2 u p AUTH q", "+NOKEY"),
        ] {
            s.check(&format!("MIGRATE 127.0.0.1 1 {words}"), expected);
        }
        s.check("MULTI", "+OK").check("MIGRATE 127.0.0.1 1 none 0 10", "+QUEUED");
        s.check("MIGRATE 127.0.0.1 1 k 0 x", "+QUEUED").check("EXEC", &format!("[+NOKEY, {number}]"));
        s.check("EVAL \"return redis.call('migrate', '127.0.0.1', '1', 'none', '0', '10')\" 0", "+NOKEY");
        s.check(
            "EVAL_RO \"return redis.pcall('migrate', '127.0.0.1', '1', 'none', '0', '10').err\" 0",
            "\"ERR Write commands are not allowed from read-only scripts.\"",
        );
    });
}

#[test]
fn keys_are_found_behind_options() {
    // Valkey looks the keys up differently.
    family::compare_lines(
        Kind::Redis,
        r#"
        COMMAND GETKEYSANDFLAGS MIGRATE h p k 0 0
        COMMAND GETKEYS MIGRATE h p "" 0 0 AUTH keys KEYS a b
        COMMAND GETKEYS MIGRATE h p k 0 0 AUTH keys KEYS a b
        COMMAND GETKEYS MIGRATE h p "" 0 0 COPY AUTH2 keys keys keys a b
        COMMAND GETKEYS MIGRATE h p "" 0 0 COPY WORD keys a b
        COMMAND GETKEYS MIGRATE h p "" 0 0 keys keys a
        COMMAND GETKEYS MIGRATE h p "" 0 0 keys
        COMMAND GETKEYS MIGRATE h p "" 0 0 AUTH keys
        COMMAND GETKEYS MIGRATE h p "" 0 0 AUTH keys a
        COMMAND GETKEYS MIGRATE keys keys k 0 0
        "#,
    );
}

#[test]
fn passwords_are_not_logged() {
    family::same_everywhere(|s| {
        s.check("CONFIG SET slowlog-log-slower-than 0", "+OK");
        s.check("MIGRATE h 1 none 0 10 AUTH2 u p AUTH x", "+NOKEY");
        s.check_that("SLOWLOG GET 1", |log| {
            log.to_string().contains(r#""AUTH2", "(redacted)", "(redacted)", "AUTH", "(redacted)"]"#)
        });
    });
}
