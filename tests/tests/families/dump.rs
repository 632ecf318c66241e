//! DUMP and RESTORE, and payloads that go from one server to another.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::rdb::{sealed, spoilt};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::rng::Rng;
use lockwheel_tests::state::payloads_agree;
use lockwheel_tests::{family, ours};

/// The answer of redis-server 7.0.15 to DUMP after `SET k v`.
const PAYLOAD: &str = r#""\x00\x01v\n\x00\x91\x08\xce\xb2\x198\x8a\xce""#;

/// A random score: of any bits, with few digits, a whole number, or at an end of the range.
fn score(rng: &mut Rng) -> f64 {
    const ENDS: [f64; 10] = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        5e-324,
        1e17,
        1e21,
        9007199254740993.0,
        -9.3e18,
    ];
    let bits = rng.next_u64();
    match rng.below(5) {
        0 => f64::from_bits(bits),
        1 => (bits % 2_000_001) as f64 / 10_f64.powi(rng.below(9) as i32) - 1000.0,
        2 => bits.cast_signed() as f64,
        3 => (bits % 2001) as f64 - 1000.0,
        _ => ENDS[rng.below(ENDS.len())],
    }
}

/// Scores keep all of their 17 digits, in a listpack and in a table.
#[test]
fn scores_are_dumped_with_the_bytes_of_redis() {
    const SCORES: usize = 4000;
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let mut clients = [real.addr(), server.addr()].map(Client::connect);
    let mut rng = Rng::new(ours::SEED);
    for score in std::iter::repeat_with(|| score(&mut rng)).filter(|score| !score.is_nan()).take(SCORES) {
        let text = format!("{score:e}");
        for other in ["short", "longer than the sixty-four bytes that a listpack takes of a member of it"] {
            let [real, ours] = clients.each_mut().map(|client| {
                client.line("DEL z");
                client.cmd(&["ZADD", "z", &text, "m"]);
                client.cmd(&["ZADD", "z", &text, other]);
                client.line("DUMP z").as_bytes().expect("a payload").to_vec()
            });
            assert!(payloads_agree(&real, &ours), "{text}: {real:?} {ours:?}");
        }
    }
}

#[test]
fn equal_values_have_equal_bytes() {
    family::compare_lines(
        Kind::Redis,
        r#"DUMP none
        SET k v
        DUMP k
        SET k -32769
        DUMP k
        SET k 12345678901
        DUMP k
        APPEND k 7
        DUMP k
        SET k "hello hello hello hello hello hello hello hello"
        DUMP k
        RPUSH l a 1 127 128 -4097 70000 -9000000 5000000000 "" aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        DUMP l
        CONFIG SET list-max-listpack-size 2
        RPUSH m a b c d e
        LPUSH m z
        DUMP m
        CONFIG SET list-max-listpack-size -2
        HSET h f v g 1 h "a b"
        DUMP h
        SADD n 1 -5 300
        DUMP n
        SADD n 70000
        DUMP n
        SADD n 5000000000
        SREM n 5000000000
        DUMP n
        ZADD z 1 a 0.1 b inf c -inf d 1e20 e 1e17 f 1.5 g
        DUMP z
        ZADD z 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        DUMP z
        XADD x 1-1 a 1 b 2
        XADD x 1-2 a 3 b 4
        XADD x 5-0 c 5
        DUMP x
        XDEL x 1-2
        XGROUP CREATE x g 0
        DUMP x
        XTRIM x MAXLEN 0
        DUMP x"#,
    );
}

#[test]
fn restore_sets_the_remaining_time_of_a_key() {
    let mut s = ours::manual_scenario();
    s.check(&format!("RESTORE k 0 {PAYLOAD}"), "+OK").check("GET k", "\"v\"").check("PTTL k", ":-1");
    s.check(&format!("RESTORE k 5000 {PAYLOAD}"), "-BUSYKEY Target key name already exists.");
    s.check(&format!("RESTORE k 5000 {PAYLOAD} REPLACE"), "+OK").check("PTTL k", ":5000");
    s.check(&format!("RESTORE k 9999999999999 {PAYLOAD} ABSTTL REPLACE"), "+OK");
    s.check("PEXPIRETIME k", ":9999999999999");
    // An expired key is not restored, and neither is one whose deadline overflows.
    s.check(&format!("RESTORE k 1 {PAYLOAD} ABSTTL REPLACE"), "+OK").check("EXISTS k", ":0");
    s.check(&format!("RESTORE k 9223372036854775807 {PAYLOAD}"), "+OK").check("EXISTS k", ":0");
    s.check(&format!("RESTORE k 1 {PAYLOAD} ABSTTL"), "+OK").check("EXISTS k", ":0");
    s.check(&format!("RESTORE k 0 {PAYLOAD} REPLACE IDLETIME 10"), "+OK");
    s.check(&format!("RESTORE k 0 {PAYLOAD} REPLACE FREQ 255 FREQ 1"), "+OK").check("PTTL k", ":-1");
    s.check(&format!("RESTORE-ASKING k 0 {PAYLOAD} REPLACE"), "+OK").check("GET k", "\"v\"");
}

#[test]
fn errors_of_restore_are_reported_in_the_order_of_redis() {
    let lines = [
        "RESTORE k 0",
        "RESTORE k 0 bad NOSUCH",
        "SET k mine",
        "RESTORE k x bad",
        "RESTORE k x bad REPLACE",
        "RESTORE k -1 bad REPLACE",
        "RESTORE k 0 bad REPLACE",
        "RESTORE k 0 \"\" REPLACE",
        "RESTORE k 0 PAYLOAD REPLACE IDLETIME",
        "RESTORE k 0 PAYLOAD REPLACE IDLETIME x",
        "RESTORE k 0 PAYLOAD REPLACE IDLETIME -1",
        "RESTORE k 0 PAYLOAD REPLACE FREQ -1",
        "RESTORE k 0 PAYLOAD REPLACE FREQ 256",
        "RESTORE k 0 PAYLOAD REPLACE FREQ 1 IDLETIME 1",
        "RESTORE k 0 PAYLOAD REPLACE IDLETIME 1 FREQ 1",
        "RESTORE k 9223372036854775808 PAYLOAD REPLACE",
        // A set that has a member twice, with a correct checksum.
        r#"RESTORE k 0 "\x02\x02\x01a\x01a\n\x00W\xbev/\xc2\xd6R:" REPLACE"#,
        "GET k",
        "PTTL k",
    ];
    family::compare_lines(Kind::Redis, &lines.join("\n").replace("PAYLOAD", PAYLOAD));
    family::compare_lines(Kind::Valkey, &lines.join("\n").replace("PAYLOAD", PAYLOAD));
}

#[test]
fn restore_publishes_events() {
    family::same_everywhere(|s| {
        s.check("CONFIG SET notify-keyspace-events EAn", "+OK");
        family::listen(s);
        s.run(&format!("RESTORE k 0 {PAYLOAD}"));
        family::expect_events(s, "new k, restore k");
        s.run(&format!("RESTORE k 100000 {PAYLOAD} REPLACE"));
        family::expect_events(s, "new k, restore k");
        s.run(&format!("RESTORE k 1 {PAYLOAD} REPLACE ABSTTL"));
        family::expect_events(s, "del k");
        s.run(&format!("RESTORE k 1 {PAYLOAD} ABSTTL"));
        s.check("DUMP k", "(nil)").check("SET k v", "+OK");
        family::expect_events(s, "new k, set k");
        s.on("watcher").check("WATCH k", "+OK").check("MULTI", "+OK").check("PING", "+QUEUED");
        s.run(&format!("RESTORE k 0 {PAYLOAD} REPLACE"));
        s.on("watcher").check("EXEC", "(nil)");
    });
}

#[test]
fn a_restored_lock_is_held() {
    let mut s = ours::manual_scenario();
    let owner = "01234567-89ab-cdef-0123-456789abcdef:1";
    s.check(&format!("HSET a {owner} 1"), ":1").check("PEXPIRE a 30000", ":1");
    let dump = s.run("DUMP a").map(|reply| reply.as_bytes().map(<[u8]>::to_vec).unwrap_or_default());
    for (client, dump) in s.on("main").clients().iter_mut().zip(&dump) {
        assert_eq!(client.cmd(&[b"RESTORE".as_slice(), b"b", b"30000", &dump[..]]).to_string(), "+OK");
    }
    s.check_that("LOCK.INFO b", |info| {
        info.to_string().contains(owner) && !info.to_string().contains("\"grant\": (nil)")
    });
    s.check("LOCK.ACQUIRE b other PX 1000", "(nil)");
}

/// A connection, and the words by which a server answers DUMP and DEBUG.
struct Server {
    client: Client,
}

impl Server {
    fn of(server: &dyn Endpoint) -> Server {
        Server { client: Client::connect(server.addr()) }
    }

    fn run(&mut self, line: &str) -> Reply {
        self.client.line(line)
    }

    fn dump(&mut self, key: &str) -> Vec<u8> {
        self.client.cmd(&["DUMP", key]).as_bytes().expect("a payload").to_vec()
    }

    /// Whether Redis 7.0 has the form in which a key is written.
    fn has_old_form(&mut self, key: &str) -> bool {
        !matches!(self.dump(key)[0], 20 | 21)
    }

    fn restore(&mut self, key: &str, payload: &[u8]) {
        let reply = self.client.cmd(&[b"RESTORE".as_slice(), key.as_bytes(), b"0", payload, b"REPLACE"]);
        assert_eq!(reply.to_string(), "+OK", "{}", payload.escape_ascii());
    }

    fn digest(&mut self, key: &str) -> Reply {
        self.client.cmd(&["DEBUG", "DIGEST-VALUE", key])
    }
}

/// A random text that is stored in one of the many ways.
fn text(rng: &mut Rng) -> String {
    let number = rng.next_u64() as i64 >> rng.below(64);
    match rng.below(7) {
        0 | 1 => number.to_string(),
        2 => "ab".chars().cycle().skip(rng.below(2)).take(rng.below(120)).collect(),
        3 => format!("{number} is what {number} is").repeat(rng.below(12)),
        4 => "x".repeat(*rng.pick(&[0, 63, 64, 65, 4095, 4096, 9000])),
        _ => format!("e{}", rng.below(1000)),
    }
}

/// Lines that create a key of each type.
fn lines(rng: &mut Rng) -> Vec<Vec<String>> {
    let mut lines = vec![vec!["SET".to_owned(), "string".to_owned(), text(rng)]];
    let count = *rng.pick(&[1, 3, 20, 150, 600]);
    for number in 0..count {
        let (text, score) = (text(rng), *rng.pick(&["1", "0.1", "-3", "1e20", "inf"]));
        let push = *rng.pick(&["LPUSH", "RPUSH"]);
        let integer = (rng.next_u64() as i64 >> 40).to_string();
        let (id, field) = (format!("{}-{number}", 1 + number / 3), format!("f{}", rng.below(2)));
        for line in [
            &[push, "list", &text][..],
            &["HSET", "hash", &text, score],
            &["ZADD", "zset", score, &text],
            &["SADD", "set", &text],
            &["SADD", "integers", &integer],
            &["XADD", "stream", &id, &field, &text],
        ] {
            lines.push(line.iter().map(|word| (*word).to_owned()).collect());
        }
        if number % 10 == 3 {
            lines.push(
                ["XDEL", "stream", &format!("{}-{number}", 1 + number / 3)].map(str::to_owned).to_vec(),
            );
        }
    }
    lines
}

#[test]
fn payloads_are_exchanged_with_real_servers() {
    let rounds = 6;
    let Some(redis) = RealServer::start(Kind::Redis, &[]) else { return };
    let valkey = RealServer::start(Kind::Valkey, &[]);
    let own = ours::server();
    let (mut redis, mut own) = (Server::of(&redis), Server::of(&own));
    let mut valkey = valkey.as_ref().map(|valkey| Server::of(valkey));
    for seed in 0..rounds {
        let mut rng = Rng::new(seed);
        let lines = lines(&mut rng);
        for server in [Some(&mut redis), Some(&mut own), valkey.as_mut()].into_iter().flatten() {
            server.run("FLUSHALL");
            server.client.pipeline(&lines);
        }
        for key in ["string", "list", "hash", "zset", "set", "integers", "stream"] {
            let (theirs, ours) = (redis.dump(key), own.dump(key));
            // The order of a table is its own, and a small set is a table in Redis 7.0.
            let is_table = redis.run(&format!("OBJECT ENCODING {key}")).to_string() == "\"hashtable\"";
            assert!(is_table || payloads_agree(&theirs, &ours), "seed {seed}, {key}: {} bytes", theirs.len());
            let expected = redis.digest(key);
            if own.has_old_form(key) {
                redis.restore("from", &sealed(&ours[..ours.len() - 10], 10));
                assert_eq!(redis.digest("from"), expected);
            }
            own.restore("from", &theirs);
            assert_eq!([own.digest("from"), own.digest(key)], [(); 2].map(|()| expected.clone()));
            if !is_table {
                assert_eq!(own.dump("from"), ours, "what was restored is written as it was");
            }
            let Some(valkey) = &mut valkey else { continue };
            valkey.restore("from", &ours);
            own.restore("from", &valkey.dump(key));
            assert_eq!(own.digest("from"), expected, "seed {seed}, {key}");
            // Valkey formats scores differently in its digests.
            assert_eq!(valkey.digest("from"), valkey.digest(key), "seed {seed}, {key}");
        }
    }
}

/// The recorded first entry need not be true: another server may have written it, and an old one records nothing.
#[test]
fn restore_keeps_the_recorded_first_entry_of_a_stream() {
    const OLD: &str = r"\x0f\x00\x00\x05\x01\x00\x0a\x00\xaa\x3d\xf9\x54\x5d\x42\xb6\xf4";
    const EMPTY: &str =
        r"\x13\x00\x00\x05\x01\x03\x01\x01\x02\x08\x00\x0a\x00\xad\xee\xfc\x94\x3c\x0e\x27\x4d";
    const FULL: &str = concat!(
        r"\x13\x01\x10\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x01\x28",
        r"\x28\x00\x00\x00\x0f\x00\x02\x01\x00\x01\x01\x01\x81\x61\x02\x00\x01\x02\x01\x00",
        r"\x01\x00\x01\x81\x62\x02\x04\x01\x02\x01\x01\x01\x00\x01\x81\x62\x02\x04\x01\xff",
        r"\x02\x06\x01\x07\x00\x05\x01\x03\x00\x0a\x00\x3f\x3a\x42\xa2\xe4\xda\x76\xe2",
    );
    let mut lines = String::new();
    for payload in [OLD, EMPTY, FULL] {
        lines +=
            &format!("RESTORE s 0 \"{payload}\" REPLACE\nXINFO STREAM s\nDUMP s\nXGROUP CREATE s g 3-0\n");
        lines +=
            "XINFO GROUPS s\nXADD s 10-1 a b\nXINFO STREAM s\nXINFO GROUPS s\nXDEL s 5-1\nXINFO STREAM s\n";
        lines += "XTRIM s MAXLEN 0\nXINFO STREAM s\n";
    }
    family::compare_lines(Kind::Redis, &lines);
}

#[test]
fn a_restored_value_is_counted_in_memory() {
    let mut s = ours::scenario();
    s.check("DEBUG POPULATE 1 big 8000000", "+OK");
    let dump = s.run("DUMP big:0").map(|reply| reply.as_bytes().map(<[u8]>::to_vec).unwrap_or_default());
    s.check("DEL big:0", ":1");
    let before = s.on("main").clients().each_mut().map(used_memory);
    for (client, dump) in s.on("main").clients().iter_mut().zip(&dump) {
        // Zeros, compressed.
        assert!(dump.len() < 200_000, "{}", dump.len());
        assert_eq!(client.cmd(&[b"RESTORE".as_slice(), b"k", b"0", &dump[..]]).to_string(), "+OK");
    }
    let after = s.on("main").clients().each_mut().map(used_memory);
    for (before, after) in before.into_iter().zip(after) {
        assert!((7_900_000..9_000_000).contains(&(after - before)), "{before} {after}");
    }
}

/// Bytes of keys and values.
fn used_memory(client: &mut Client) -> i64 {
    let info = client.line("INFO memory");
    let text = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
    let field = text.lines().find_map(|line| line.strip_prefix("used_memory_dataset:"));
    field.and_then(|number| number.parse().ok()).expect("a number")
}

/// A zipmap of `count` fields as its header says, with one field of each of these pairs of encoded words.
fn zipmap(count: u8, pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut bytes = vec![count];
    for (field, value) in pairs {
        bytes.extend_from_slice(field);
        // The byte of unused space follows the value's length.
        let length = if value[0] == 0xfe { 5 } else { 1 };
        bytes.extend([&value[..length], b"\0", &value[length..]].concat());
    }
    bytes.push(0xff);
    bytes
}

/// A word of a zipmap whose length has four bytes.
fn long_word(length: u32) -> Vec<u8> {
    [&b"\xfe"[..], &length.to_le_bytes(), &vec![b'x'; length as usize]].concat()
}

/// Hashes of Redis before 2.6, in each form of their lengths and counts.
#[test]
fn zipmaps_are_read_and_refused_as_in_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let server = ours::server();
    let mut clients = [real.addr(), server.addr()].map(Client::connect);
    let longs = [5, 253, 254, 300, 70_000].map(long_word);
    let short: (&[u8], &[u8]) = (b"\x01a", b"\x01b");
    let mut zipmaps = vec![b"\x00\xff".to_vec(), b"\xff".to_vec(), zipmap(2, &[short; 2])];
    for long in &longs {
        zipmaps.push(zipmap(1, &[(short.0, long)]));
        zipmaps.push(zipmap(1, &[(long, short.1)]));
        zipmaps.push(zipmap(1, &[(long, long)]));
    }
    for count in [0, 1, 2, 253, 254, 255] {
        zipmaps.push(zipmap(count, &[short]));
    }
    for number in [253, 254, 255, 256] {
        let fields: Vec<Vec<u8>> = (0..number).map(|n| format!("\x03{n:03}").into_bytes()).collect();
        let pairs: Vec<(&[u8], &[u8])> = fields.iter().map(|field| (&field[..], &b"\x01v"[..])).collect();
        for count in [252, 253, 254, 255] {
            zipmaps.push(zipmap(count, &pairs));
        }
    }
    let mut restored = 0;
    for zipmap in zipmaps {
        let length = u32::try_from(zipmap.len()).expect("a short zipmap").to_be_bytes();
        let payload = sealed(&[&b"\x09\x80"[..], &length, &zipmap].concat(), 9);
        let [real, ours] = clients.each_mut().map(|client| {
            client.line("DEL h");
            let request: [&[u8]; 4] = [b"RESTORE", b"h", b"0", &payload];
            let answer = client.pipeline(&[request.map(<[u8]>::to_vec).to_vec()]).remove(0);
            let digest = client.line("DEBUG DIGEST-VALUE h");
            (answer.to_string(), digest.to_string())
        });
        assert_eq!(real, ours, "{}", zipmap[..zipmap.len().min(40)].escape_ascii());
        restored += usize::from(real.0 == "+OK");
    }
    assert!(restored > 10, "{restored}");
}

/// Each of a hundred and fifty thousand payloads is either refused, and the key stays unchanged, or gives a whole key.
#[test]
fn corrupt_payloads_with_a_valid_checksum_leave_no_partial_key() {
    const BATCH: usize = 500;
    let server = ours::server();
    let mut server = Server::of(&server);
    let mut rng = Rng::new(ours::SEED);
    let (mut refused, mut restored) = (0, 0);
    for round in 0..300 {
        server.run("FLUSHALL");
        for line in lines(&mut rng).iter().take(40) {
            server.client.cmd(line);
        }
        let keys = ["string", "list", "hash", "zset", "set", "integers", "stream"];
        let mut payloads = Vec::new();
        for key in keys {
            if server.run(&format!("EXISTS {key}")).to_string() == ":1" {
                payloads.push(server.dump(key));
            }
        }
        server.run("SET g old");
        let old = server.dump("g");
        let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Vec<_>>();
        let requests: Vec<Vec<Vec<u8>>> = (0..BATCH)
            .flat_map(|_| {
                let payload = rng.pick(&payloads);
                let payload = spoilt(&mut rng, payload);
                [
                    words(&[b"SET", b"g", b"old"]),
                    words(&[b"RESTORE", b"g", b"0", &payload, b"REPLACE"]),
                    words(&[b"DUMP", b"g"]),
                    words(&[b"DEL", b"g"]),
                ]
            })
            .collect();
        let replies = server.client.pipeline(&requests);
        for (asked, replies) in requests.chunks(4).zip(replies.chunks(4)) {
            let payload = asked[1][3].escape_ascii();
            let dumped =
                replies[2].as_bytes().unwrap_or_else(|| panic!("round {round}: no key after {payload}"));
            assert_eq!(replies[3].to_string(), ":1");
            if replies[1].is_error() {
                assert_eq!(replies[1].to_string(), "-ERR Bad data format", "{payload}");
                assert_eq!(dumped, old, "{payload}");
                refused += 1;
            } else {
                restored += 1;
            }
        }
    }
    assert!(refused > 1500 && restored > 1500, "{refused} and {restored}");
}
