//! The values of generated commands: few names, so that commands meet on the same keys, and every number that ever
//! broke a server.
//!
//! Three kinds of values are left out on purpose, because a real server takes them literally. They are counts that make
//! it answer for hours (`SRANDMEMBER k -2147483648`), offsets that make it allocate gigabytes, and unsuitable deadlines
//! or timeouts. With a very short one, two servers asked one after the other would rightly differ; with a long one they
//! block.

use crate::rng::Rng;

/// Numbers and non-numbers that every parser must handle correctly. None is a valid integer between 2 and 2^31.
const HOSTILE_NUMBERS: &[&str] = &[
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "2147483648",
    "4294967296",
    "-0",
    "+1",
    "01",
    "0x10",
    " 1",
    "1 ",
    "1.5",
    "1e400",
    "-1e400",
    "nan",
    "inf",
    "",
    "ten",
    "1_0",
    "1\0",
];

const SMALL_INTEGERS: &[&str] = &["0", "1", "2", "3", "5", "-1", "-2", "-5", "10", "-100", "100"];

const DOUBLES: &[&str] = &[
    "0",
    "1",
    "-1",
    "1.5",
    "-2.25",
    "3.0e3",
    "1e20",
    "-1e-5",
    "0.1",
    "100",
    "inf",
    "-inf",
    "+inf",
    "-0",
    "17179869184",
    "1e308",
    "5e-324",
    "0.30000000000000004",
    "nan",
    "0x10",
    "",
    " 1",
    "one",
];

/// Few places, so that commands meet on them, on both sides of the edges of the world and of its finest grid.
const LONGITUDES: &[&str] = &[
    "13.361389",
    "15.087269",
    "13.4",
    "15",
    "0",
    "-0",
    "180",
    "-180",
    "179.9999",
    "-179.9999",
    "90",
    "-122.4",
    "1e-9",
    "180.1",
    "inf",
    "nan",
    "",
    "east",
];
const LATITUDES: &[&str] = &[
    "38.115556",
    "37.502669",
    "38",
    "37.5",
    "0",
    "66.1",
    "-66.1",
    "80.5",
    "85.05112878",
    "-85.05112878",
    "85",
    "-45",
    "85.05112879",
    "-inf",
    "nan",
    "north",
];
/// Lengths in a unit that follows them.
const LENGTHS: &[&str] = &[
    "0", "1", "0.001", "100", "200", "1000", "50000", "200000", "1e6", "2e7", "1e9", "inf", "5e-324", "-0",
    "-1", "nan", "wide",
];

/// Relative deadlines: far, none, past and impossible. No deadline passes while a test runs.
const SECONDS: &[&str] = &["100000", "200000", "1000000", "0", "-1", "-100000"];
const MILLISECONDS: &[&str] = &["100000000", "200000000", "1000000000", "0", "-1", "-100000000"];
const UNIX_SECONDS: &[&str] = &["4102444800", "4102448400", "1", "0", "-1"];
const UNIX_MILLISECONDS: &[&str] = &["4102444800000", "4102448400001", "1", "0", "-1"];

/// Seconds that a command may block. There is no 0 or equivalent, which would block for ever, and no hexadecimal
/// number, which would block for long.
const TIMEOUTS: &[&str] = &["0.001", "0.01", "0.002", "1e-3", "-1", "-0.5", "", "ten", "nan", "1e400", "inf"];

const VALUES: &[&str] = &[
    "",
    "v",
    "w",
    "1",
    "10",
    "-7",
    "3.5",
    "hello world",
    "9223372036854775807",
    "-9223372036854775808",
    "x\0y",
    "1 ",
    // Longer than an embedded string, and than a listpack's entry.
    "a string of more than sixty-four bytes, which is where a compact encoding ends for good",
];

/// Values as DUMP answers them, of each type and of older forms. Then come some invalid values with a correct checksum,
/// and one with a wrong checksum.
const PAYLOADS: &[&[u8]] = &[
    b"\x00\x01v\x0a\x00\x91\x08\xce\xb2\x198\x8a\xce",
    b"\x00\xc0\x07\x0a\x00t\xcdH\xa2\x83\xab\xce\x92",
    b"\x12\x01\x02\x0f\x0f\x00\x00\x00\x03\x00\x81a\x02\x01\x01\xc1,\x02\xff\x0a\x00\xc9\x19#\x95\xa7\xba\x06\x0f",
    b"\x10\x0c\x0c\x00\x00\x00\x02\x00\x81f\x02\x01\x01\xff\x0a\x001\xba\x08\x19I\xa0\xe3\xdd",
    b"\x02\x02\x02m1\x02m2\x0a\x009\xb7#D\x0e\x17\x97\x9b",
    b"\x0b\x0e\x02\x00\x00\x00\x03\x00\x00\x00\x01\x00\x02\x00\x03\x00\x0a\x00\xa5\x02\x5c\xe2mnM\x1b",
    b"\x11\x14\x14\x00\x00\x00\x04\x00\x82m1\x03\x01\x01\x82m2\x03\x02\x01\xff\x0a\x00j.x\x0f~\x8e<\xfe",
    b"\x04\x01\x01f\x01v\x0a\x00\xad\xf2CV\xb1\x86\x0e\xfc",
    b"\x05\x01\x02m1\x00\x00\x00\x00\x00\x00\xf8?\x0a\x00\xcc\xb2\xbd\xa7i\x22\xc4U",
    b"\x01\x02\x01a\x01b\x0a\x002\xa8\x90~\xd5\x03\x1aE",
    b"\x0a\x10\x10\x00\x00\x00\x0d\x00\x00\x00\x02\x00\x00\x01a\x03\xf2\xff\x0a\x00\xa9(T\x9e_\xbb\xcf4",
    b"\x02\x02\x01a\x01a\x0a\x00W\xbev/\xc2\xd6R:",
    b"\x01\x00\x0a\x00[\xf8%\xccl\x17CV",
    b"\x12\x01\x03\x01a\x0a\x00wAE\x81\xd2\xbb\xfc\x1c",
    b"\xff\x0a\x00\xc9H\x85\x1cr'<\x17",
    b"\x00\x01v\x0a\x00\x91\x08\xce\xb2\x198\x8a\x00",
];

const PATTERNS: &[&str] =
    &["*", "?", "k*", "*1", "[a-m]*", "[^a]*", "h[12]", "\\*", "", "[", "a\\", "**1*", "none"];

/// Libraries of functions, and texts that are none.
const LIBRARIES: &[&str] = &[
    "#!lua name=a\nredis.register_function('f', function(keys, args) return {keys, args} end)",
    "#!lua name=a\nredis.register_function('f', function(keys) return redis.call('get', keys[1] or 's1') end) \
     redis.register_function{function_name='g', callback=function(keys, args) return redis.call('set', 's1', \
     args[1] or 'v') end, description='sets'}",
    "#!lua name=b\nlocal calls = 0 redis.register_function{function_name='g', flags={'no-writes', 'allow-stale'}, \
     callback=function(keys) calls = calls + 1 return {calls, redis.pcall('llen', keys[1] or 'l1')} end}",
    "#!LUA name=b\nredis.register_function{function_name='r', flags={'no-writes'}, callback=function(keys, args) \
     return redis.call('set', keys[1] or 's1', 'v') end}",
    "#!lua name=c\nredis.register_function('h', function(keys, args) \
     return redis.call(args[1] or 'ping', keys[1]) end)",
    "#!lua name=c\nredis.register_function('F', function() error('mine') end)",
    "#!lua name=c\n",
    "#!lua name=c\nreturn (",
    "#!lua name=c\nredis.register_function('x y', function() end)",
    "#!lua name=c\nredis.call('ping')",
    "#!js name=a\nreturn 1",
    "#!lua name=a.b\n",
    "#!lua\n",
    "#!lua name=a name=b\n",
    "#!lua flags=no-writes name=a\n",
    "#!lua name=a",
    "return 1",
];

/// Payloads of such libraries, as redis-server 7.0.15 returns them: of `a` with `f`, of `b` with `g`, of no library.
/// One more has a wrong checksum.
const LIBRARY_PAYLOADS: &[&[u8]] =
    &[PAYLOAD_A, PAYLOAD_B, b"\n\0]\x9b\\@\x0f\x7f\xa2\xda", b"\n\0]\x9b\\@\x0f\x7f\xa2\xdb"];

const PAYLOAD_A: &[u8] = b"\xf5@K#!lua name=a\n\
    redis.register_function('f', function() return 'restored' end)\n\0B\x8c#B\xdc\xf6\xc76";
const PAYLOAD_B: &[u8] = b"\xf5@K#!lua name=b\n\
    redis.register_function('g', function() return 'restored' end)\n\0\xa0\x10\xcdd\xfcJ=\xcb";

/// Kinds of keys, by the first letter of their names. There are two of each, so that commands on two keys meet too.
const KEYS: &[(&str, [&str; 2])] = &[
    ("string", ["s1", "s2"]),
    ("hash", ["h1", "h2"]),
    ("list", ["l1", "l2"]),
    ("set", ["t1", "t2"]),
    ("sorted-set", ["z1", "z2"]),
    ("geo", ["g1", "g2"]),
    ("stream", ["x1", "x2"]),
    ("bitmap", ["b1", "s1"]),
    ("hyperloglog", ["p1", "p2"]),
];

/// Offsets of bits. None makes a real server fill hundreds of megabytes.
const BIT_OFFSETS: &[&str] = &[
    "0",
    "1",
    "7",
    "8",
    "9",
    "15",
    "63",
    "100",
    "#0",
    "#1",
    "#2",
    "#7",
    "-1",
    "4294967296",
    "#-1",
    "#",
    "x",
    "1.5",
    "9223372036854775808",
    "#4611686018427387903",
];
const BITS: &[&str] = &["0", "1", "0", "1", "1", "2", "-1", "x", "", "9223372036854775808"];
const FIELD_VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "5",
    "127",
    "128",
    "255",
    "256",
    "-128",
    "-129",
    "9223372036854775807",
    "-9223372036854775808",
    "x",
    "1.5",
];
const FIELD_KINDS: &[&str] = &[
    "u8", "i8", "u1", "i1", "u2", "i5", "u16", "i16", "u63", "i64", "u64", "i65", "u0", "i", "U8", "x", "",
    "i8x", "i-1",
];

/// Keys of no fixed kind: any command may create them, so that wrong types happen.
const ANY_KEYS: &[&str] = &["k1", "k2", "{tag}1", "", "key with space", "bin\r\n\0"];

/// Returns a random key for a command of this group: mostly of its own kind, else of any.
pub fn key(rng: &mut Rng, group: &str) -> Vec<u8> {
    let own = KEYS.iter().find(|(kind, _)| *kind == group);
    let name = match own {
        Some((_, names)) if rng.chance(75) => *rng.pick(names),
        _ if rng.chance(60) => {
            let (_, names) = rng.pick(KEYS);
            *rng.pick(names)
        }
        _ => *rng.pick(ANY_KEYS),
    };
    name.as_bytes().to_vec()
}

/// Returns a random value for the argument of this name, for a command of this group.
pub fn argument(rng: &mut Rng, name: &str, group: &str) -> Vec<u8> {
    if is_key(name) {
        return key(rng, group);
    }
    if name == "serialized-value" && group == "scripting" {
        return rng.pick(LIBRARY_PAYLOADS).to_vec();
    }
    let pool = match group {
        "stream" => stream_pool(name).unwrap_or_else(|| pool(name, group)),
        _ => pool(name, group),
    };
    let pick_hostile = match pool {
        Pool::Integers | Pool::Times(_) => rng.chance(15),
        _ => false,
    };
    if pick_hostile {
        return bytes(rng.pick(HOSTILE_NUMBERS));
    }
    match pool {
        Pool::Integers => bytes(rng.pick(SMALL_INTEGERS)),
        Pool::Times(times) | Pool::Words(times) => bytes(rng.pick(times)),
        Pool::Names(letter) => member(rng, letter),
        Pool::ScoreBound => bound(rng),
        Pool::Payloads => rng.pick(PAYLOADS).to_vec(),
        Pool::Values if rng.chance(4) => vec![0xff, 0x00, 0x80, b'\r', b'\n'],
        Pool::Values if rng.chance(2) => vec![b'b'; 600],
        Pool::Values => bytes(rng.pick(VALUES)),
    }
}

/// Returns a random time for a command that blocks this number of milliseconds. 0 would block for ever.
pub fn blocking_milliseconds(rng: &mut Rng) -> Vec<u8> {
    bytes(rng.pick(&["1", "2", "10", "-1", "", "ten", "1.5", "9223372036854775808"]))
}

/// Whether an argument must not become an arbitrarily large number, because a real server would take it literally.
pub fn is_size(name: &str, group: &str) -> bool {
    group == "bitmap" && name == "offset"
}

/// Whether an argument of this name is the name of a key.
pub fn is_key(name: &str) -> bool {
    matches!(
        name,
        "key"
            | "source"
            | "src"
            | "destination"
            | "dst"
            | "newkey"
            | "key1"
            | "key2"
            | "sourcekey"
            | "destkey"
    )
}

/// A value that no argument expects here.
pub fn hostile(rng: &mut Rng) -> Vec<u8> {
    bytes(rng.pick(HOSTILE_NUMBERS))
}

fn bytes(text: &&str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// The source of an argument's values.
#[derive(Clone, Copy, Debug)]
enum Pool {
    Integers,
    Times(&'static [&'static str]),
    Words(&'static [&'static str]),
    Names(char),
    ScoreBound,
    Payloads,
    Values,
}

fn pool(name: &str, group: &str) -> Pool {
    match name {
        "offset" if group == "bitmap" => Pool::Words(BIT_OFFSETS),
        "value" | "increment" if group == "bitmap" => Pool::Words(FIELD_VALUES),
        "bit" => Pool::Words(BITS),
        "encoding" => Pool::Words(FIELD_KINDS),
        "index1" | "index2" => Pool::Integers,
        "operation" => Pool::Words(&["AND", "or", "XOR", "NOT", "NAND"]),
        "subcommand" => Pool::Words(&["getreg", "DECODE", "ENCODING", "todense", "x"]),
        "seconds" => Pool::Times(SECONDS),
        "milliseconds" | "ttl" => Pool::Times(MILLISECONDS),
        "unix-time-seconds" => Pool::Times(UNIX_SECONDS),
        "unix-time-milliseconds" => Pool::Times(UNIX_MILLISECONDS),
        "timeout" => Pool::Words(TIMEOUTS),
        "pattern" => Pool::Words(PATTERNS),
        "function-code" => Pool::Words(LIBRARIES),
        "function" => Pool::Words(&["f", "f", "g", "h", "F", "r", "nosuch", ""]),
        "library-name" => Pool::Words(&["a", "a", "b", "c", "A", "nosuch", ""]),
        "library-name-pattern" => Pool::Words(&["*", "a", "A", "?", "[ab]", "nosuch*", ""]),
        "field" => Pool::Names('f'),
        "member" | "member1" | "member2" => Pool::Names('m'),
        "element" | "pivot" => Pool::Names('e'),
        "channel" | "shardchannel" => Pool::Names('c'),
        "score" | "weight" => Pool::Words(DOUBLES),
        "longitude" => Pool::Words(LONGITUDES),
        "latitude" => Pool::Words(LATITUDES),
        "radius" | "width" | "height" => Pool::Words(LENGTHS),
        "min" | "max" => Pool::ScoreBound,
        "serialized-value" => Pool::Payloads,
        "frequency" => Pool::Integers,
        "cursor" => Pool::Words(&["0", "0", "0", "1", "99", "-1", "x", "", "18446744073709551615", "0 "]),
        "type" => Pool::Words(&["string", "hash", "list", "set", "zset", "stream", "none", "HASH", ""]),
        "start" | "stop" | "end" | "index" | "count" | "offset" | "increment" | "decrement" | "rank"
        | "num-matches" | "len" | "min-match-len" | "maxlen" | "db" | "destination-db" | "limit"
        | "numkeys" | "threshold" => {
            // The float commands' `increment` gets its fractions from the hostile numbers.
            Pool::Integers
        }
        _ => Pool::Values,
    }
}

/// Ids of entries, mostly such as entries get, so that commands meet on them. There is no `*`, because each server
/// generates its own id.
const IDS: &[&str] = &[
    "1-*",
    "1-*",
    "1-*",
    "1-*",
    "2-*",
    "2-*",
    "3-*",
    "1-0",
    "1-1",
    "1-1",
    "1-2",
    "1-3",
    "2-0",
    "2-1",
    "2-2",
    "3",
    "3-1",
    "0",
    "0",
    "0-0",
    "0-*",
    "5-1",
    ">",
    ">",
    ">",
    ">",
    ">",
    "$",
    "$",
    "-",
    "+",
    "x",
    "1-",
    "",
    "18446744073709551615-18446744073709551615",
    "18446744073709551615-*",
    "06-1",
    "1--1",
];

/// Ids without the special signs.
const PLAIN_IDS: &[&str] =
    &["0", "0-0", "1-0", "1-1", "1-2", "2-0", "2-1", "3", "5-1", "100-1", "-", "x", "18446744073709551615"];

/// Ends of ranges of ids.
const STARTS: &[&str] = &[
    "-",
    "-",
    "-",
    "-",
    "0",
    "1",
    "1-1",
    "(1-1",
    "(1",
    "2-0",
    "+",
    "(",
    "x",
    "(18446744073709551615-18446744073709551615",
];
const ENDS: &[&str] = &["+", "+", "+", "+", "1", "1-1", "(1-2", "(2", "2-1", "3", "-", "(-", "", "(0-0"];

/// An idle time of zero, or one that no entry reaches in a test.
const IDLE_TIMES: &[&str] = &["0", "0", "0", "0", "100000000", "-1", "x", "9223372036854775807"];

/// Returns the source for the arguments of streams that other groups interpret differently, or do not have.
fn stream_pool(name: &str) -> Option<Pool> {
    Some(match name {
        "id" => Pool::Words(IDS),
        "last-id" | "max-deleted-id" | "lastid" => Pool::Words(PLAIN_IDS),
        "start" => Pool::Words(STARTS),
        "end" => Pool::Words(ENDS),
        "threshold" => {
            Pool::Words(&["0", "1", "2", "3", "5", "1-1", "1-2", "2", "2-0", "3", "x", "-1", "+", ""])
        }
        "min-idle-time" => Pool::Words(IDLE_TIMES),
        "ms" => {
            Pool::Words(&["0", "1000", "200000000", "-1", "x", "9223372036854775807", "-9223372036854775808"])
        }
        "group" => Pool::Words(&["g", "g", "g", "g", "h", ""]),
        "consumer" => Pool::Words(&["c", "c", "d", "e", "1"]),
        "entries-read" | "entries-added" => Pool::Words(&["0", "1", "3", "10", "-1", "-2", "x"]),
        _ => return None,
    })
}

/// Returns one of few names with this first letter, sometimes a number or an odd one, which changes encodings.
fn member(rng: &mut Rng, letter: char) -> Vec<u8> {
    match rng.below(20) {
        0..=13 => format!("{letter}{}", rng.below(6)).into_bytes(),
        14..=16 => format!("{}", rng.below(4)).into_bytes(),
        _ => bytes(rng.pick(VALUES)),
    }
}

/// A bound of a range by score, rank or name.
fn bound(rng: &mut Rng) -> Vec<u8> {
    match rng.below(10) {
        0..=4 => bytes(rng.pick(&["-inf", "+inf", "0", "1", "(1", "2.5", "(0", "100", "inf", "(inf"])),
        5 | 6 => bytes(rng.pick(&["-", "+", "[m1", "(m3", "[", "(", "[m", "["])),
        7 => bytes(rng.pick(&["nan", "(nan", "((1", "", "x", "(", "1e400", " 1"])),
        _ => bytes(rng.pick(SMALL_INTEGERS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hostile_number_is_a_small_count() {
        for text in HOSTILE_NUMBERS {
            let value = text.parse::<i64>().unwrap_or(0);
            let canonical = value.to_string() == *text;
            assert!(!canonical || value.unsigned_abs() >= 1 << 31, "{text}");
        }
    }

    #[test]
    fn no_timeout_blocks_for_long() {
        for text in TIMEOUTS {
            let seconds = text.parse::<f64>().unwrap_or(-1.0);
            assert!(seconds != 0.0 && !(0.02..1e18).contains(&seconds), "{text}");
        }
    }

    #[test]
    fn keys_are_mostly_of_the_commands_kind() {
        let mut rng = Rng::new(1);
        let own = (0..1000).filter(|_| key(&mut rng, "hash").starts_with(b"h")).count();
        assert!((700..950).contains(&own), "{own}");
    }
}
