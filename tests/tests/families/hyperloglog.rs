//! HyperLogLogs, as a client sees them, and their bytes, compared with those of a real server.

use lockwheel_tests::client::Client;
use lockwheel_tests::family::{self, compare_lines};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::rng::Rng;

const CORRUPTED: &str = "-INVALIDOBJ Corrupted HLL object detected";
const NO_SKETCH: &str = "-WRONGTYPE Key is not a valid HyperLogLog string value.";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn elements_are_added_and_counted() {
    family::same_everywhere(|s| {
        s.check("PFADD p", ":1")
            .check("PFADD p", ":0")
            .check("STRLEN p", ":18")
            .check("PFCOUNT p", ":0")
            .check("PFADD p a b c d e f g", ":1")
            .check("PFADD p a g", ":0")
            .check("PFCOUNT p", ":7")
            .check("PFADD q f g h", ":1")
            .check("PFCOUNT p q none", ":8")
            .check("PFCOUNT none", ":0")
            .check("PFMERGE r p q none", "+OK")
            .check("PFCOUNT r", ":8")
            .check("OBJECT ENCODING r", "\"raw\"")
            .check("PFDEBUG ENCODING r", "+sparse")
            .check("PFDEBUG TODENSE r", ":1")
            .check("PFDEBUG ENCODING r", "+dense")
            .check("PFDEBUG TODENSE r", ":0")
            .check("STRLEN r", ":12304")
            .check("PFCOUNT r", ":8")
            .check("PFMERGE q r", "+OK")
            .check("PFDEBUG ENCODING q", "+dense");
    });
}

#[test]
fn the_self_test_passes() {
    family::same_on(&[], |s| {
        s.check("PFSELFTEST", "+OK");
    });
}

#[test]
fn pfdebug_decode_shows_the_runs() {
    family::same_everywhere(|s| {
        s.check("PFADD p a b", ":1")
            .check("PFDEBUG DECODE p", r#""Z:12711 v:2,1 Z:3068 v:1,1 Z:603""#)
            .check("PFDEBUG TODENSE p", ":1")
            .check("PFDEBUG DECODE p", "-ERR HLL encoding is not sparse")
            .check("PFDEBUG NOSUCH p", "-ERR Unknown PFDEBUG subcommand 'NOSUCH'")
            .check("PFDEBUG DECODE none", "-ERR The specified key does not exist");
    });
}

#[test]
fn an_invalid_hyperloglog_is_distinguished_from_a_wrong_type() {
    family::same_everywhere(|s| {
        s.check("SET s HYLX", "+OK").check("SET n 5", "+OK").check("LPUSH l a", ":1");
        for line in
            ["PFADD s a", "PFCOUNT s", "PFCOUNT s n", "PFMERGE d s", "PFMERGE s", "PFADD n", "PFCOUNT n"]
        {
            s.check(line, NO_SKETCH);
        }
        for line in
            ["PFADD l a", "PFCOUNT l", "PFCOUNT none l", "PFMERGE d l", "PFMERGE l", "PFDEBUG GETREG l"]
        {
            s.check(line, WRONG_TYPE);
        }
        s.check("EXISTS d", ":0").check("OBJECT ENCODING n", "\"int\"").check("GET s", "\"HYLX\"");
    });
}

#[test]
fn changes_are_published_and_abort_watching_transactions() {
    family::same_everywhere(|s| {
        s.check("CONFIG SET notify-keyspace-events EAm", "+OK");
        family::listen(s);
        s.check("PFADD p a", ":1")
            .check("PFADD p a", ":0")
            .check("PFMERGE q p none", "+OK")
            .check("PFCOUNT n p", ":1");
        family::expect_events(s, "pfadd p, keymiss q, keymiss none, pfadd q, keymiss n");
        // PFCOUNT changes the cached count.
        s.check("WATCH p", "+OK").check("PFCOUNT p", ":1").check("MULTI", "+OK");
        s.check("EXEC", "(nil)");
        s.check("WATCH p", "+OK").check("PFCOUNT p", ":1").check("MULTI", "+OK").check("EXEC", "[]");
        s.check("WATCH p", "+OK").check("PFDEBUG TODENSE p", ":1").check("MULTI", "+OK").check("EXEC", "[]");
    });
}

/// CVE-2019-10192 and CVE-2019-10193: strings that string commands have corrupted.
#[test]
fn cve_2019_10192_and_10193_edited_strings_are_refused() {
    family::same_everywhere(|s| {
        s.check("PFADD p a b c", ":1")
            // A dense HyperLogLog must have its fixed length.
            .check("PFDEBUG TODENSE p", ":1")
            .check("APPEND p x", ":12305")
            .check("PFCOUNT p", NO_SKETCH)
            .check("PFADD p d", NO_SKETCH)
            // An unknown encoding.
            .check("PFADD q a", ":1")
            .check(r#"SETRANGE q 4 "\x02""#, ":21")
            .check("PFADD q b", NO_SKETCH)
            // Runs beyond the last register, and too few runs.
            .check("PFADD r a b c", ":1")
            .check("APPEND r hello", ":32")
            .check("PFCOUNT r", CORRUPTED)
            .check("PFMERGE s r", CORRUPTED)
            .check("PFADD t", ":1")
            .check(r#"SETRANGE t 16 "\x00\x00""#, ":18")
            .check("PFADD t a b c", CORRUPTED)
            .check("PFCOUNT t", CORRUPTED)
            .check("PFDEBUG GETREG t", CORRUPTED);
    });
}

/// For Redis, a 0 follows the end of a string: it is the second byte of a run that has lost it.
#[test]
fn a_truncated_run_is_changed_as_in_redis() {
    const HEAD: &str = r"HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80";
    let mut lines = String::new();
    for tail in [r"\x7f", r"\x7f\xfe\x40", r"\x00\x80\x7f", r"\x3f\x7f", r"\x6f\xff\x40", r"\x5f\xff\x5f"] {
        for element in ["a", "b", "c", "d", "e", "f"] {
            lines += &format!("SET p \"{HEAD}{tail}\"\nPFDEBUG DECODE p\nPFCOUNT p\n");
            lines += &format!("PFADD p {element}\nGET p\n");
        }
        lines += &format!("SET p \"{HEAD}{tail}\"\nPFDEBUG TODENSE p\nPFMERGE q p\nSTRLEN p\n");
    }
    compare_lines(Kind::Redis, &lines);
}

/// Unpatched real servers are not asked: they write beyond their memory.
#[test]
fn cve_2025_32023_runs_that_wrap_around_are_refused() {
    family::same_on(&[Kind::Valkey], |s| {
        for client in s.on("main").clients() {
            let bytes =
                [&b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80"[..], &[0x7f, 0xff].repeat(132_072), &[0xff]].concat();
            assert_eq!(client.cmd(&[b"SET".as_slice(), b"p", &bytes]).to_string(), "+OK");
        }
        for line in ["PFCOUNT p", "PFCOUNT p q", "PFMERGE q p", "PFDEBUG GETREG p", "PFDEBUG TODENSE p"] {
            s.check(line, CORRUPTED);
        }
    });
}

#[test]
fn sparse_hyperloglogs_have_the_configured_maximum_length() {
    family::same_everywhere(|s| {
        s.check("CONFIG SET hll-sparse-max-bytes 23", "+OK")
            .check("PFADD p a", ":1")
            .check("STRLEN p", ":21")
            .check("PFADD p b", ":1")
            .check("PFDEBUG ENCODING p", "+dense")
            .check("CONFIG SET hll-sparse-max-bytes 24", "+OK")
            .check("PFADD q a b", ":1")
            .check("PFDEBUG ENCODING q", "+sparse")
            .check("CONFIG SET hll-sparse-max-bytes 0", "+OK")
            .check("PFADD r", ":1")
            .check("PFADD r a", ":1")
            .check("PFDEBUG ENCODING r", "+dense")
            .check("PFCOUNT r", ":1");
    });
}

/// Random sequences on few keys: every key has the same bytes after each of them.
#[track_caller]
fn same_bytes(kind: Kind, seed: u64) {
    let Some(real) = RealServer::start(kind, &[]) else { return };
    let ours = ours::server();
    let mut both = [Client::connect(real.addr()), Client::connect(ours.addr())];
    let mut rng = Rng::new(seed);
    let mut sent = Vec::new();
    for step in 0..400 {
        // At first, few elements at once, so that runs are split and merged one by one.
        let most = if step < 200 { 6 } else { 120 };
        let key = |rng: &mut Rng| format!("p{}", rng.below(4));
        let line = match rng.below(20) {
            0..=12 => {
                let elements: Vec<String> =
                    (0..rng.below(most)).map(|_| rng.below(100_000).to_string()).collect();
                format!("PFADD {} {}", key(&mut rng), elements.join(" "))
            }
            13 | 14 => format!("PFMERGE {} {} {}", key(&mut rng), key(&mut rng), key(&mut rng)),
            15 | 16 => format!("PFCOUNT {}", key(&mut rng)),
            17 => format!("PFCOUNT {} {}", key(&mut rng), key(&mut rng)),
            18 => format!("CONFIG SET hll-sparse-max-bytes {}", [0, 40, 3000, 3000, 20_000][rng.below(5)]),
            _ if rng.chance(40) => format!("DEL {}", key(&mut rng)),
            _ => format!("COPY {} {} REPLACE", key(&mut rng), key(&mut rng)),
        };
        let [expected, got] = both.each_mut().map(|client| client.line(&line).to_string());
        sent.push(line);
        assert_eq!(got, expected, "seed {seed}\n{}", sent.join("\n"));
        for key in 0..4 {
            let [expected, got] = both.each_mut().map(|client| client.line(&format!("GET p{key}")));
            assert!(expected == got, "seed {seed}: p{key} differs after\n{}", sent.join("\n"));
        }
    }
}

#[test]
fn random_sequences_give_the_bytes_of_real_servers() {
    for seed in 1..=4 {
        same_bytes(Kind::Redis, seed);
    }
    same_bytes(Kind::Valkey, 5);
}

#[test]
fn hyperloglogs_answer_as_real_servers() {
    compare_lines(Kind::Redis, LINES);
    compare_lines(Kind::Valkey, LINES);
}

const LINES: &str = r#"
    PFADD p
    GET p
    PFADD p a
    GET p
    PFCOUNT p
    GET p
    PFADD p a
    GET p
    PFADD p b "" "a longer element of more than sixteen bytes" "12345678" "123456789"
    GET p
    PFDEBUG DECODE p
    PFDEBUG ENCODING p
    PFDEBUG GETREG p
    PFDEBUG ENCODING p
    PFDEBUG todense p
    PFDEBUG x p
    PFDEBUG "x\x00y" p
    PFDEBUG x none
    PFDEBUG GETREG
    PFDEBUG GETREG p p
    EXPIRE p 100000
    PFADD p c
    TTL p
    PFMERGE p
    TTL p
    PFMERGE q p
    GET q
    PFMERGE fresh
    GET fresh
    PFCOUNT fresh
    PFMERGE fresh none
    PFCOUNT p q none
    PFADD
    PFCOUNT
    PFMERGE
    PFSELFTEST x
    SET small "HYLL\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x7f\xff"
    OBJECT ENCODING small
    PFCOUNT small
    OBJECT ENCODING small
    PFADD small a
    PFCOUNT small
    SET zero "HYLL\x01abc\x00\x00\x00\x00\x00\x00\x00\x80\x3f\x7f\xbf"
    PFDEBUG TODENSE zero
    PFCOUNT zero
    GETRANGE zero 0 20
    SET high "HYLL\x01abc\xff\xff\xff\xff\xff\xff\xff\x7f\x7f\xff"
    PFCOUNT high
    SET short "HYLL\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00"
    PFCOUNT short
    SET bare "HYLL\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x80"
    PFCOUNT bare
    PFADD bare a
    PFDEBUG DECODE bare
    PFDEBUG GETREG bare
    SET wide "HYLL\x02\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x80\x7f\xff"
    PFCOUNT wide
    SET lower "hyll\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x80\x7f\xff"
    PFCOUNT lower
    SET dense "HYLL\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x80\x7f\xff"
    PFCOUNT dense
    SET values "HYLL\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x80\x83\x83\x80\x81\x7f\xf4"
    PFDEBUG DECODE values
    PFCOUNT values
"#;
