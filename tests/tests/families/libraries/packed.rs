//! `cmsgpack` and `struct` at random.

use crate::libraries::describe::{DESCRIBE, mutate, number, string, value};
use crate::libraries::trial::{Script, compare};
use lockwheel_tests::rng::Rng;

#[test]
fn values_are_packed_as_by_redis() {
    compare(3000, |rng| {
        let values: Vec<_> = (0..rng.below(4)).map(|_| value(rng, 4)).collect();
        let values = values.join(", ");
        Script::new(
            match rng.below(3) {
                0 | 1 => format!("return cmsgpack.pack({values})"),
                _ => format!("{DESCRIBE} return d({{cmsgpack.unpack(cmsgpack.pack({values}))}})"),
            },
            "",
        )
    });
}

/// Any item, and what belongs to it.
fn packed(rng: &mut Rng, depth: usize, out: &mut Vec<u8>) {
    let first = match rng.below(8) {
        0 => rng.below(256) as u8,
        1 => 0xC0 + rng.below(32) as u8,
        2 => rng.below(128) as u8,
        3 | 4 => 0xA0 + rng.below(6) as u8,
        5 => 0xCA + rng.below(10) as u8,
        6 => *rng.pick(&[0xD9, 0xDA, 0xDB, 0xDC, 0xDD, 0xDE, 0xDF]),
        _ => 0x80 + rng.below(32) as u8,
    };
    out.push(first);
    let announced = |rng: &mut Rng, width: usize, out: &mut Vec<u8>| {
        let count = if rng.chance(90) { rng.below(5) as u32 } else { rng.next_u64() as u32 };
        out.extend_from_slice(&count.to_be_bytes()[4 - width..]);
        (count as usize).min(6)
    };
    let items = match first {
        0x80..=0x8F => usize::from(first & 0xF) * 2,
        0x90..=0x9F => usize::from(first & 0xF),
        0xA0..=0xBF => return bytes(rng, usize::from(first & 0x1F), out),
        0xCA | 0xCE | 0xD2 => return bytes(rng, 4, out),
        0xCB | 0xCF | 0xD3 => return bytes(rng, 8, out),
        0xCC | 0xD0 => return bytes(rng, 1, out),
        0xCD | 0xD1 => return bytes(rng, 2, out),
        0xD9..=0xDB => {
            let len = announced(rng, 1 << (first - 0xD9), out);
            return bytes(rng, len, out);
        }
        0xDC | 0xDD => announced(rng, 2 << (first - 0xDC), out),
        0xDE | 0xDF => announced(rng, 2 << (first - 0xDE), out) * 2,
        _ => 0,
    };
    for _ in 0..if depth == 0 { 0 } else { items } {
        packed(rng, depth - 1, out);
    }
}

fn bytes(rng: &mut Rng, len: usize, out: &mut Vec<u8>) {
    out.extend((0..len).map(|_| if rng.chance(50) { rng.below(256) as u8 } else { b'a' }));
}

#[test]
fn bytes_are_unpacked_as_by_redis() {
    compare(4000, |rng| {
        let mut text = Vec::new();
        for _ in 0..rng.below(4) {
            packed(rng, 4, &mut text);
        }
        if rng.chance(30) {
            mutate(rng, &mut text, b"\x80\x81\x90\x91\xa1\xc0\xc3\xca\xcb\xd9\xdc\xdd\xde\xdf\xff\x01");
        }
        let number = |rng: &mut Rng| rng.below(text.len() + 4) as i64 - 2;
        let call = match rng.below(4) {
            0 | 1 => "cmsgpack.unpack(ARGV[1])".to_owned(),
            2 => format!("cmsgpack.unpack_one(ARGV[1], {})", number(rng)),
            _ => format!("cmsgpack.unpack_limit(ARGV[1], {}, {})", number(rng), number(rng)),
        };
        Script::new(format!("{DESCRIBE} return d({{{call}}})"), text)
    });
}

/// A format of at most this number of items.
fn format(rng: &mut Rng) -> String {
    let items = (0..rng.below(6)).map(|_| match rng.below(10) {
        0 => format!("{}{}", rng.pick(&["i", "I"]), rng.below(35)),
        1 => format!("c{}", rng.below(8)),
        2 => (*rng.pick(&[">", "<", "!", "!2", "!4", "!8", "!16", "!3", " ", "="])).to_owned(),
        3 => (*rng.pick(&["z", "5", "i99999999999", "c0", "Bc0", "x", "xx"])).to_owned(),
        _ => (*rng.pick(&["b", "B", "h", "H", "l", "L", "T", "i", "I", "f", "d", "s"])).to_owned(),
    });
    items.collect()
}

#[test]
fn structures_are_packed_as_by_redis() {
    compare(2000, |rng| {
        let format = format(rng);
        let values = (0..rng.below(6)).map(|_| match rng.below(4) {
            0 => string(rng),
            // The result is undefined in C if a number is beyond the range of its integer type.
            _ => number(rng).replace("(0/0)", "1").replace("0/0", "1").replace("1/0", "1"),
        });
        let values: Vec<_> = values.collect();
        let list = values.iter().map(|value| format!(", {value}")).collect::<String>();
        Script::new(format!("return struct.pack('{format}'{list})"), "")
    });
}

#[test]
fn structures_are_unpacked_as_by_redis() {
    compare(2000, |rng| {
        let format = format(rng);
        let mut text = Vec::new();
        let len = rng.below(30);
        bytes(rng, len, &mut text);
        let position = if rng.chance(30) { format!(", {}", rng.below(40) as i64 - 5) } else { String::new() };
        Script::new(
            match rng.below(5) {
                0 => format!("return struct.size('{format}')"),
                _ => format!("{DESCRIBE} return d({{struct.unpack('{format}', ARGV[1]{position})}})"),
            },
            text,
        )
    });
}
