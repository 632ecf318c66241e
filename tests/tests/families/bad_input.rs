//! Requests of several families that have crashed, hung or bloated servers, by the names under which they are known.

use lockwheel_tests::family::{compare_lines, same_everywhere};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::Kind;

/// Replacements for a numeric argument: the limits of numbers, and texts that are almost numbers.
const NUMBERS: &[&str] = &[
    "-9223372036854775808",
    "9223372036854775807",
    "-9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "4294967296",
    "-0",
    "+1",
    "01",
    "1.0",
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "0x10",
    "\" 1\"",
    "\"1 \"",
    "\"\"",
];

/// Requests with a number in each place that `{}` marks. [`DATA`] is the data before them.
const PLACES: &[&str] = &[
    "EXPIRE k {} XX",
    "PEXPIREAT k {} LT",
    "SET k v EX {}",
    "SET k v PXAT {}",
    "SETEX k {} v",
    "PSETEX k {} v",
    "GETEX k PX {}",
    "SETRANGE missing {} \"\"",
    "GETRANGE k {} {}",
    "INCRBY n {}",
    "DECRBY n {}",
    "INCRBYFLOAT f {}",
    "SETBIT b {} 1",
    "SETBIT b 1 {}",
    "GETBIT b {}",
    "BITCOUNT b {} {}",
    "BITCOUNT b {} -1 BIT",
    "BITPOS b 1 {} {}",
    "BITFIELD b GET u8 {}",
    "BITFIELD b SET i8 0 {}",
    "BITFIELD b OVERFLOW SAT INCRBY i64 0 {}",
    "HINCRBY h n {}",
    "HINCRBYFLOAT h n {}",
    "HRANDFIELD none {}",
    "HSCAN h {}",
    "HSCAN h 0 COUNT {}",
    "LINDEX l {}",
    "LRANGE l {} {}",
    "LSET l {} v",
    "LREM l {} none",
    "LPOS l v RANK {}",
    "LPOS l v COUNT {}",
    "LPOS l v MAXLEN {}",
    "LPOP none {}",
    "LMPOP {} l LEFT",
    "LMPOP 1 none LEFT COUNT {}",
    "BLPOP l {}",
    "RPUSH l v",
    "SPOP none {}",
    "SSCAN s {}",
    "SINTERCARD {} s",
    "SINTERCARD 1 s LIMIT {}",
    "ZADD z {} m",
    "ZINCRBY z {} m",
    "ZRANGE z {} {}",
    "ZRANGE z {} {} BYSCORE",
    "ZRANGE z -inf +inf BYSCORE LIMIT {} {}",
    "ZRANGEBYLEX z - + LIMIT {} {}",
    "ZCOUNT z {} {}",
    "ZREMRANGEBYRANK none {} {}",
    "ZPOPMIN none {}",
    "ZMPOP {} z MIN",
    "ZUNION {} z WITHSCORES",
    "ZUNION 1 z WEIGHTS {} WITHSCORES",
    "ZINTERCARD 1 z LIMIT {}",
    "GEOADD g {} {} m",
    "GEOSEARCH g FROMLONLAT {} {} BYRADIUS 1 m",
    "GEOSEARCH g FROMLONLAT 0 0 BYRADIUS {} km",
    "GEOSEARCH g FROMLONLAT 0 0 BYBOX 1 {} m COUNT {}",
    "XADD x MAXLEN {} 0-1 f v",
    "XADD x NOMKSTREAM {} f v",
    "XTRIM x MAXLEN ~ 10 LIMIT {}",
    "XRANGE x {} +",
    "XRANGE x - + COUNT {}",
    "XREAD COUNT {} STREAMS x 0",
    "XREAD BLOCK {} STREAMS x 0",
    "XSETID x 9-9 ENTRIESADDED {}",
    "XGROUP SETID x g {}",
    "XPENDING x g - + {}",
    "XPENDING x g IDLE {} - + 1",
    "XCLAIM x g c {} 1-1",
    "XCLAIM x g c 0 1-1 RETRYCOUNT {}",
    "XAUTOCLAIM x g c {} 0",
    "SORT l ALPHA LIMIT {} {}",
    "LCS k k IDX MINMATCHLEN {}",
    "COPY k k2 DB {}",
    "MOVE none {}",
    "SWAPDB {} 0",
    "EVAL \"return 1\" {}",
    "FCALL none {}",
    "WAIT 0 {}",
    "OBJECT ENCODING {}",
    "CLIENT UNBLOCK {}",
    "SLOWLOG GET {}",
    "CONFIG SET hash-max-listpack-entries {}",
    "CONFIG SET slowlog-max-len {}",
];

/// A key of each type.
const DATA: &str = "SET k text
    SET n 1
    SET f 1.5
    SET b bits
    RPUSH l v w v
    SADD s a b
    HSET h n 1 f v
    ZADD z 1 a 2 b
    XADD x 1-1 f v
    XGROUP CREATE x g 0
    XREADGROUP GROUP g c STREAMS x >
";

#[test]
fn every_number_is_taken_or_refused_as_redis_does() {
    let mut lines = String::new();
    for number in NUMBERS {
        lines += "FLUSHALL\n";
        lines += DATA;
        for place in PLACES {
            lines += &place.replace("{}", number);
            lines.push('\n');
        }
        // An answer in milliseconds depends on the elapsed time.
        lines += "DEL k\nMGET n f b\nHGETALL h\nZRANGE z 0 -1 WITHSCORES\nLRANGE l 0 -1\nXRANGE x - +\n";
    }
    compare_lines(Kind::Redis, &lines);
}

#[test]
fn cve_2016_8339_invalid_output_buffer_limits_are_refused() {
    compare_lines(
        Kind::Redis,
        r#"CONFIG SET client-output-buffer-limit "replica 1 2"
        CONFIG SET client-output-buffer-limit "replica 1 2 3 4"
        CONFIG SET client-output-buffer-limit "master 1 2 3"
        CONFIG SET client-output-buffer-limit "normal 1 2 3 slave"
        CONFIG SET client-output-buffer-limit "normal 99999999999999999999999999999999 2 3"
        CONFIG SET client-output-buffer-limit "normal -1 2 3"
        CONFIG GET client-output-buffer-limit"#,
    );
}

#[test]
fn cve_2021_29478_and_32687_sets_of_many_integers_are_copied_and_restored() {
    same_everywhere(|s| {
        s.check("CONFIG SET set-max-intset-entries 4294967295", "+OK");
        let members: String = (0..2000).map(|n| format!(" {}", n * 3)).collect();
        s.check(&format!("SADD s{members}"), ":2000")
            .check("COPY s t", ":1")
            .check("SCARD t", ":2000")
            .check("OBJECT ENCODING t", "\"intset\"")
            .check("SADD t 9223372036854775807 -9223372036854775808", ":2")
            .check("SINTERCARD 2 s t", ":2000");
        for client in s.on("main").clients() {
            let payload = client.line("DUMP t");
            let payload = payload.as_bytes().expect("a payload");
            let restored = client.cmd(&[b"RESTORE".as_slice(), b"u", b"0", payload]);
            assert_eq!(restored.to_string(), "+OK");
        }
        s.check("SDIFFSTORE d t u", ":0").check("OBJECT ENCODING u", "\"intset\"");
    });
}

#[test]
fn cve_2022_35977_ranges_beyond_the_longest_string_are_refused() {
    compare_lines(
        Kind::Redis,
        "SETRANGE k 9223372036854775807 A
        SETRANGE k 9223372036854775806 AA
        SETRANGE k 536870912 A
        SETRANGE k 4294967295 A
        SETRANGE k -1 A
        EXISTS k
        SET k v
        SETRANGE k 9223372036854775807 A
        GET k",
    );
}

#[test]
fn cve_2022_36021_a_pattern_of_twenty_stars_takes_no_time() {
    let mut s = ours::scenario();
    let key = "a".repeat(40);
    let pattern = format!("{}b", "a*".repeat(20));
    s.check(&format!("SET {key} v"), "+OK")
        .check(&format!("KEYS {pattern}"), "[]")
        .check(&format!("SCAN 0 MATCH {pattern}"), r#"["0", []]"#)
        .check(&format!("KEYS {}", "a*".repeat(20)), &format!("[\"{key}\"]"));
}

#[test]
fn cve_2024_31228_patterns_of_many_stars_take_no_stack() {
    let mut s = ours::scenario();
    let pattern = "*?".repeat(50_000);
    let text = "k".repeat(100_000);
    s.check(&format!("SET {text} v"), "+OK")
        .check(&format!("HSET h {text} v"), ":1")
        .check(&format!("KEYS {pattern}"), "[]")
        .check(&format!("SCAN 0 MATCH {pattern}"), r#"["0", []]"#)
        .check(&format!("HSCAN h 0 MATCH {pattern}"), r#"["0", []]"#)
        .check(&format!("COMMAND LIST FILTERBY PATTERN {pattern}"), "[]")
        .check3(&format!("CONFIG GET {pattern}"), "[]", "{}");
    s.on("listener").run(&format!("PSUBSCRIBE {pattern}"));
    s.on("main").check(&format!("PUBLISH {text} message"), ":0").check("PUBSUB NUMPAT", ":1");
}

#[test]
fn cve_2022_33105_reading_the_ends_of_a_stream_leaks_no_memory() {
    let server = ours::manual_server();
    let mut client = lockwheel_tests::client::Client::connect(server.addr());
    // The records of latency grow with each new maximum.
    client.line("CONFIG SET latency-tracking no");
    for line in ["XADD x 1-1 f v", "XGROUP CREATE x g 0", "XREADGROUP GROUP g c STREAMS x >"] {
        client.line(line);
    }
    let mut used = || {
        for line in [
            "XINFO STREAM x FULL",
            "XINFO STREAM x",
            "XINFO GROUPS x",
            "XINFO CONSUMERS x g",
            "XINFO CONSUMERS x none",
            "XADD x 0-0 f v",
            "XADD x 1-1 f v",
            "XADD x NOMKSTREAM MAXLEN = 1 2-1 f v",
            "XDEL x 2-1",
            "XSETID x 1-1",
            "XREADGROUP GROUP g c STREAMS x 0",
        ] {
            for _ in 0..200 {
                client.line(line);
            }
        }
        let info = client.line("INFO memory").to_string();
        let (_, rest) = info.split_once("used_memory:").expect("the field");
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<i64>().expect("a number")
    };
    let [_, _, third, fourth] = [used(), used(), used(), used()];
    assert_eq!(third, fourth);
}

#[test]
fn cve_2023_28425_the_last_of_equal_keys_counts() {
    same_everywhere(|s| {
        s.check("MSETNX k a k b", ":1").check("GET k", "\"b\"").check("MSETNX k c other d", ":0");
        s.check("EXISTS other", ":0");
    });
}

#[test]
fn cve_2023_28856_infinity_is_added_to_no_field() {
    compare_lines(
        Kind::Redis,
        "HINCRBYFLOAT h f +inf
        HINCRBYFLOAT h f -inf
        HINCRBYFLOAT h f nan
        EXISTS h
        HSET h f 1
        HINCRBYFLOAT h f inf
        HGET h f",
    );
}

#[test]
fn cve_2026_23479_a_client_killed_while_waiting_is_not_served() {
    let mut s = ours::scenario();
    s.on("first").send("BLPOP l 0");
    lockwheel_tests::family::await_blocked(&mut s, 1);
    s.on("second").send("BLPOP l 0");
    lockwheel_tests::family::await_blocked(&mut s, 2);
    for client in s.on("main").clients() {
        let list = client.line("CLIENT LIST TYPE normal").to_string();
        let blocked: Vec<&str> = list.split("id=").filter(|line| line.contains("flags=b")).collect();
        let (id, _) = blocked[0].split_once(' ').expect("an id");
        for line in ["MULTI", "RPUSH l a", &format!("CLIENT KILL ID {id}"), "EXEC"] {
            client.line(line);
        }
        assert_eq!(client.line("EXISTS l").to_string(), ":0", "the second waiter has it");
    }
    s.on("second").expect(r#"["l", "a"]"#);
}
