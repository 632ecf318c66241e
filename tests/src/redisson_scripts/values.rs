//! Contents of keys, and arguments for scripts: few names, so that scripts meet on them.

use super::shape::{Shape, Use};
use crate::rng::Rng;
use crate::universe;

/// Names of owners, fields, members and elements.
const NAMES: &[&str] = &["f0", "f1", "m0", "m1", "e0", "c0:1", "c0:2", "c1:1", "1", "2", ""];

/// Numbers as Redisson sends them: counts, leases, instants. No lease ends while a test runs.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "100000",
    "30000000",
    "1700000000000",
    "4102444800000",
    "922337203685477",
    "1.5",
];

/// The number of [`NUMBERS`] that are small enough to count to.
const SMALL: usize = 6;

fn number(rng: &mut Rng, shape: &Shape) -> &'static str {
    let numbers = if shape.counts { &NUMBERS[..SMALL] } else { NUMBERS };
    rng.pick::<&'static str>(numbers)
}

/// The numbers from here on are leases and instants.
const LEASES: &[&str] = &["30000000", "60000000", "100000000", "0", "-1"];

/// A value for an argument of this use.
pub(super) fn argument(rng: &mut Rng, of: &Use, shape: &Shape) -> Vec<u8> {
    match of {
        Use::Command => b"publish".to_vec(),
        _ if shape.counts && rng.chance(30) => number(rng, shape).as_bytes().to_vec(),
        Use::Argument("milliseconds" | "seconds", _) => rng.pick(LEASES).as_bytes().to_vec(),
        Use::Argument("unix-time-milliseconds" | "unix-time-seconds", _) => b"4102444800000".to_vec(),
        Use::Argument(
            "score" | "increment" | "decrement" | "count" | "start" | "stop" | "index" | "min" | "max",
            _,
        )
        | Use::Number
            if rng.chance(90) =>
        {
            number(rng, shape).as_bytes().to_vec()
        }
        Use::Argument(name, group) if rng.chance(25) => universe::argument(rng, name, group),
        _ if !shape.words.is_empty() && rng.chance(10) => rng.pick(&shape.words).clone().into_bytes(),
        _ if rng.chance(10) => number(rng, shape).as_bytes().to_vec(),
        _ => rng.pick(NAMES).as_bytes().to_vec(),
    }
}

/// Generates commands that give a key content that the script may expect.
pub(super) fn makers(rng: &mut Rng, key: &[u8], group: &str, shape: &Shape) -> Vec<Vec<Vec<u8>>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let count = 1 + rng.below(4);
    let name = match group {
        "string" => {
            words.push(number(rng, shape).as_bytes().to_vec());
            "SET"
        }
        "hash" => {
            (0..count).for_each(|_| words.extend([name(rng, shape), value(rng, shape)]));
            "HSET"
        }
        "list" => {
            (0..count).for_each(|_| words.push(member(rng, shape)));
            "RPUSH"
        }
        "set" => {
            (0..count).for_each(|_| words.push(member(rng, shape)));
            "SADD"
        }
        "sorted-set" => {
            (0..count)
                .for_each(|_| words.extend([number(rng, shape).as_bytes().to_vec(), member(rng, shape)]));
            "ZADD"
        }
        "stream" => return stream(rng, key, shape),
        _ => return Vec::new(),
    };
    let command = [vec![name.as_bytes().to_vec(), key.to_vec()], words].concat();
    let mut commands = vec![command];
    if rng.chance(30) {
        let lease = rng.pick(&["30000000", "60000000"]).as_bytes().to_vec();
        commands.push(vec![b"PEXPIRE".to_vec(), key.to_vec(), lease]);
    }
    commands
}

/// A stream with an entry, and perhaps with groups that have read nothing, or everything.
fn stream(rng: &mut Rng, key: &[u8], shape: &Shape) -> Vec<Vec<Vec<u8>>> {
    let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect();
    let mut commands = vec![words(&[b"XADD", key, b"1-1", b"m", number(rng, shape).as_bytes()])];
    for _ in 0..rng.below(3) {
        let group = rng.pick(NAMES).as_bytes();
        commands.push(words(&[b"XGROUP", b"CREATE", key, group, rng.pick::<&str>(&["0", "$"]).as_bytes()]));
    }
    commands
}

/// The name of a field.
fn name(rng: &mut Rng, shape: &Shape) -> Vec<u8> {
    match rng.below(5) {
        0 if !shape.words.is_empty() => rng.pick(&shape.words).clone().into_bytes(),
        _ => rng.pick(NAMES).as_bytes().to_vec(),
    }
}

/// The value of a field.
fn value(rng: &mut Rng, shape: &Shape) -> Vec<u8> {
    match rng.below(10) {
        0..=5 if !shape.formats.is_empty() => packed(rng, shape),
        0..=5 => number(rng, shape).as_bytes().to_vec(),
        6 | 7 if !shape.words.is_empty() => rng.pick(&shape.words).clone().into_bytes(),
        _ => rng.pick(NAMES).as_bytes().to_vec(),
    }
}

/// A member or element.
fn member(rng: &mut Rng, shape: &Shape) -> Vec<u8> {
    match rng.below(10) {
        0..=6 if !shape.formats.is_empty() => packed(rng, shape),
        _ => rng.pick(NAMES).as_bytes().to_vec(),
    }
}

/// A value that one of the script's formats unpacks: `B` 1 byte, `h` 2, `I` 4, `L` 8, `d` a double. `c0` takes the
/// number of bytes that the preceding number gives. All are little endian.
fn packed(rng: &mut Rng, shape: &Shape) -> Vec<u8> {
    let format = rng.pick(&shape.formats).as_bytes();
    let mut bytes = Vec::new();
    let mut at = 0;
    while let Some(&letter) = format.get(at) {
        at += 1;
        let text = rng.pick(NAMES).as_bytes();
        let counts = format[at..].starts_with(b"c0");
        let size = if counts { text.len() as u64 } else { rng.below(3) as u64 };
        match letter {
            b'B' => bytes.push(size as u8),
            b'h' => bytes.extend((size as u16).to_le_bytes()),
            b'I' => bytes.extend((size as u32).to_le_bytes()),
            b'L' => bytes.extend(size.to_le_bytes()),
            b'd' => {
                let instant: f64 = number(rng, shape).parse().unwrap_or(0.0);
                bytes.extend(instant.to_le_bytes());
            }
            _ => {}
        }
        if counts {
            bytes.extend(text);
            at += 2;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::Commands;

    #[test]
    fn packed_values_have_the_length_that_their_format_says() {
        let shape = Shape::of("struct.unpack('BBc0I', v)", &Commands::all());
        let mut rng = Rng::new(3);
        for _ in 0..50 {
            let bytes = packed(&mut rng, &shape);
            assert_eq!(bytes.len(), 2 + usize::from(bytes[1]) + 4, "{bytes:?}");
        }
    }
}
