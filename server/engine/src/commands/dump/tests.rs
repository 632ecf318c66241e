//! Tests of RESTORE with corrupt payloads. Each is refused, or becomes a value that every command can work on.

use crate::commands::testing::World;
use lockwheel_store::keyspace::Rng;
use lockwheel_store::rdb::payload;

/// The number of mutated payloads of each kind.
const TRIES: usize = 5_000;
/// Bytes with a meaning in some format.
const TELLING: &[u8] = &[0, 1, 2, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0xc0, 0xc3, 0xf0, 0xf4, 0xfe, 0xff];

/// Lines that each make a value in `k`; together they cover all encodings.
const MADE: &[&str] = &[
    "SET k 12345",
    "SET k aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "RPUSH k a 1 300 -70000 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "HSET k f v g 1 h 300",
    "HSET k f v g aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "SADD k 1 2 70000 9223372036854775807",
    "SADD k a b 1",
    "SADD k a b aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "ZADD k 1 a 2.5 b inf c 1e20 d",
    "ZADD k 1 a 2.5 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "XADD k 1-1 a 1 b 2|XADD k 1-2 a 3 b 4|XADD k 2-0 c 5|XDEL k 1-2",
    "XADD k 1-1 a 1|XADD k 2-1 a 2|XGROUP CREATE k g 0|XGROUP CREATECONSUMER k g c|XCLAIM k g c 0 1-1 2-1 FORCE",
    "HSET k a 1 b 2 c 300|HPEXPIREAT k 1900000000000 FIELDS 1 a",
    "HSET k a 1 b aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|\
     HPEXPIREAT k 1900000000000 FIELDS 1 a|HPEXPIREAT k 1900000000500 FIELDS 1 b",
];

/// Values in forms that are read but never written.
const READ: &[&[u8]] = &[
    b"\x01\x03\x01a\xc0\x05\x01b",
    b"\x02\x03\x01a\x01b\x01c",
    b"\x03\x02\x01a\x031.5\x01b\xfe",
    b"\x04\x02\x01f\x01v\x01g\x01w",
    b"\x09\x10\x02\x03foo\x03\x00bar\x01b\x01\x00c\xff",
    b"\x0a\x10\x10\0\0\0\x0d\0\0\0\x02\0\0\x01a\x03\xf2\xff",
    b"\x0c\x10\x10\0\0\0\x0d\0\0\0\x02\0\0\x01a\x03\xf2\xff",
    b"\x0d\x10\x10\0\0\0\x0d\0\0\0\x02\0\0\x01a\x03\xf2\xff",
    b"\x0e\x02\x10\x10\0\0\0\x0d\0\0\0\x02\0\0\x01a\x03\xf2\xff\x0f\x0f\0\0\0\x0a\0\0\0\x01\0\0\x02ab\xff",
    b"\x12\x02\x01\x03abc\x02\x0a\x0a\0\0\0\x01\0\x81a\x02\xff",
    b"\x14\x0d\x0d\0\0\0\x02\0\x81a\x02\x81b\x02\xff",
    b"\x16\x02\x01a\xc0\x01\x008\xd3`\xba\x01\0\0\x01b\xc0\x02\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x18\x008\xd3`\xba\x01\0\0\x02\x01\x01a\xc0\x01\0\x01b\xc0\x02",
    b"\x19\x008\xd3`\xba\x01\0\0\x1d\x1d\0\0\0\x06\0\x81a\x02\x01\x01\xf4\x008\xd3`\xba\x01\0\0\x09\
      \x81b\x02\x02\x01\0\x01\xff",
];

/// Commands on the key `k` by type. They must not fail on any value.
const USED: &[(&str, &str)] = &[
    ("string", "GET k|STRLEN k|APPEND k x|GETRANGE k 0 -1|SETRANGE k 1 y"),
    (
        "list",
        "LRANGE k 0 -1|LINDEX k -1|LPOS k a|LPUSH k a|RPUSH k b|LINSERT k BEFORE a c|LSET k 0 z|LSET k -1 y|\
         LREM k 0 c|LREM k -1 a|LTRIM k 1 -1|RPUSH k q w|LPOP k|RPOP k",
    ),
    (
        "hash",
        "HGETALL k|HSCAN k 0|HRANDFIELD k 3|HPTTL k FIELDS 2 a b|HPERSIST k FIELDS 1 a|HSET k f2 v|HSET k f x|\
         HPEXPIRE k 1000 FIELDS 2 f b|HDEL k f|HGETEX k EX 5 FIELDS 1 f2|HGETDEL k FIELDS 1 a|HSTRLEN k f2|HLEN k",
    ),
    ("set", "SMEMBERS k|SSCAN k 0|SRANDMEMBER k 3|SADD k x 7|SINTER k k|SREM k x|SPOP k|SCARD k"),
    (
        "zset",
        "ZRANGE k 0 -1 WITHSCORES|ZREVRANGE k 0 -1|ZRANGEBYSCORE k -inf +inf|ZADD k 3 x 1 a|ZRANK k x|ZREM k a|\
         ZINCRBY k 2 x|ZSCAN k 0|ZPOPMIN k|ZREMRANGEBYRANK k 1 1|ZCARD k",
    ),
    (
        "stream",
        "XRANGE k - +|XREVRANGE k + -|XLEN k|XINFO STREAM k FULL|XINFO GROUPS k|XINFO CONSUMERS k g|XPENDING k g|\
         XPENDING k g - + 10|XADD k * n 1|XCLAIM k g d 0 1-1|XAUTOCLAIM k g d 0 -|XACK k g 1-1|XDEL k 1-1|\
         XTRIM k MAXLEN 1|XGROUP DELCONSUMER k g c|XINFO STREAM k",
    ),
];

fn made(line: &str) -> Vec<u8> {
    let mut world = World::new();
    for line in line.split('|') {
        let reply = world.run(line);
        assert!(!reply.starts_with('-'), "{line}: {reply}");
    }
    world.dump("k").expect("it was made")
}

fn sealed(body: &[u8]) -> Vec<u8> {
    let mut payload = body.to_vec();
    payload::seal(&mut payload, payload::VERSION_7_0);
    payload
}

/// All bodies, without their footers.
fn corpus() -> Vec<Vec<u8>> {
    let made = MADE.iter().map(|line| payload::open(&made(line)).expect("a footer").to_vec());
    made.chain(READ.iter().map(|body| body.to_vec())).collect()
}

fn mutate(body: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        let at = rng.below(body.len().max(1) as u64) as usize;
        match rng.below(8) {
            0 => body.truncate(at),
            1 => drop(body.drain(at.min(body.len())..(at + 1).min(body.len()))),
            2 => body.insert(at.min(body.len()), TELLING[rng.below(TELLING.len() as u64) as usize]),
            3 if !body.is_empty() => body[at] ^= 1 << rng.below(8),
            4 if !body.is_empty() => body[at] = rng.below(256) as u8,
            5 if !body.is_empty() => {
                let part = body[at..].to_vec();
                body.extend(part);
            }
            _ if !body.is_empty() => body[at] = TELLING[rng.below(TELLING.len() as u64) as usize],
            _ => {}
        }
    }
}

/// The fields of a hash with their values and deadlines, in the order of their names.
fn fields(world: &mut World, key: &str) -> Vec<[String; 3]> {
    let mut fields = Vec::new();
    let all = world.run(&format!("HKEYS {key}"));
    for name in all.split(' ').skip(1).step_by(2) {
        let of = |world: &mut World, line: &str| world.run(&line.replace("NAME", name));
        let value = of(world, &format!("HGET {key} NAME"));
        let left = of(world, &format!("HPEXPIRETIME {key} FIELDS 1 NAME"));
        fields.push([name.to_owned(), value, left]);
    }
    fields.sort();
    fields
}

/// Restores a payload. An accepted one must serve all commands, and be dumped and restored again.
fn restore_and_use(world: &mut World, payload: &[u8]) -> bool {
    let reply = world.request(&[b"RESTORE", b"k", b"0", payload]);
    if reply != "+OK" {
        assert_eq!(reply, "-ERR Bad data format");
        assert_eq!(world.run("EXISTS k"), ":0");
        return false;
    }
    if world.run("EXISTS k") == ":0" {
        // The deadlines of all fields had passed.
        return true;
    }
    let bytes = world.value_bytes("k");
    assert!(bytes <= 1024 + 100 * payload.len(), "{bytes} bytes of {}", payload.len());
    let again = world.dump("k").expect("it is there");
    assert_eq!(world.request(&[b"RESTORE", b"k2", b"0", &again]), "+OK");
    let kind = world.run("TYPE k");
    let second = world.dump("k2").expect("it is there");
    if second != again {
        // The format for fields with deadlines may have no deadline. The next dump then has the format of a small hash.
        assert_eq!(kind, "+hash", "written and read again it is the same");
        assert_eq!(fields(world, "k"), fields(world, "k2"));
        assert_eq!(world.request(&[b"RESTORE", b"k3", b"0", &second]), "+OK");
        assert_eq!(world.dump("k3"), Some(second));
    }
    let (_, lines) = USED.iter().find(|(name, _)| kind == format!("+{name}")).expect("a known type");
    for line in lines.split('|') {
        world.run(line);
    }
    world.run("FLUSHDB");
    true
}

#[test]
fn every_form_is_read() {
    let mut world = World::new();
    for body in corpus() {
        assert!(restore_and_use(&mut world, &sealed(&body)), "{}", body.escape_ascii());
    }
}

#[test]
fn no_payload_harms() {
    let mut world = World::new();
    let mut rng = Rng::new(7);
    let (mut restored, mut refused) = (0, 0);
    for body in corpus() {
        for _ in 0..TRIES {
            let mut body = body.clone();
            mutate(&mut body, &mut rng);
            match restore_and_use(&mut world, &sealed(&body)) {
                true => restored += 1,
                false => refused += 1,
            }
        }
    }
    // There are hundreds of thousands of payloads, and both results are frequent enough to be meaningful.
    assert!(restored + refused >= 100_000);
    assert!(restored > TRIES && refused > TRIES, "{restored} restored, {refused} refused");
}

#[test]
fn every_cut_is_refused() {
    let mut world = World::new();
    for body in corpus() {
        for len in 0..body.len() {
            assert!(!restore_and_use(&mut world, &sealed(&body[..len])), "{}", body[..len].escape_ascii());
        }
    }
}

/// The payloads of CVE-2026-25243 and of Redis' tests of corrupt payloads, with a right checksum.
#[test]
fn known_attacks_are_refused() {
    let mut world = World::new();
    for body in [
        // Announced lengths beyond all bounds.
        &b"\x00\x80\xff\xff\xff\xff"[..],
        b"\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x00\xc3\x05\x81\x7f\xff\xff\xff\xff\xff\xff\xffabcde",
        b"\x01\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x01a",
        b"\x04\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x01a\x01b",
        b"\x05\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x01a",
        // Elements that appear twice, or are missing.
        b"\x02\x02\x01a\x01a",
        b"\x04\x02\x01f\x01v\x01f\x01w",
        b"\x05\x02\x01a\0\0\0\0\0\0\0\0\x01a\0\0\0\0\0\0\0\0",
        b"\x10\x11\x11\0\0\0\x04\0\x81a\x02\x01\x01\x81a\x02\x02\x01\xff",
        b"\x10\x0a\x0a\0\0\0\x01\0\x81a\x02\xff",
        b"\x11\x0a\x0a\0\0\0\x01\0\x81a\x02\xff",
        b"\x14\x0d\x0d\0\0\0\x02\0\x81a\x02\x81a\x02\xff",
        b"\x0b\x0c\x02\0\0\0\x02\0\0\0\x01\0\x01\0",
        b"\x0b\x0c\x02\0\0\0\x02\0\0\0\x02\0\x01\0",
        // Empty values.
        b"\x01\x00",
        b"\x02\x00",
        b"\x04\x00",
        b"\x05\x00",
        b"\x0b\x08\x02\0\0\0\0\0\0\0",
        b"\x10\x07\x07\0\0\0\0\0\xff",
        b"\x12\x01\x02\x07\x07\0\0\0\0\0\xff",
        b"\x0e\x01\x0b\x0b\0\0\0\x0a\0\0\0\0\0\xff",
        b"\x09\x02\x00\xff",
        // Invalid numbers or scores, and unknown kinds.
        b"\x05\x01\x01a\0\0\0\0\0\0\xf8\x7f",
        b"\x03\x01\x01a\xfd",
        b"\x03\x01\x01a\x03abc",
        b"\x11\x0f\x0f\0\0\0\x02\0\x81a\x02\x83nan\x04\xff",
        b"\x0b\x0b\x03\0\0\0\x01\0\0\0\x01\0\0",
        b"\x12\x01\x03\x01a",
        b"\x06\x00",
        b"\x07\x00",
        b"\x08\x00",
        b"\x16\x00",
        b"\xff",
    ] {
        assert!(!restore_and_use(&mut world, &sealed(body)), "{}", body.escape_ascii());
    }
}
