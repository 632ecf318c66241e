//! Tests that files survive a round trip, and that damaged files are refused.

use super::*;
use crate::rdb::crc64::crc64;
use crate::values::{Encodings, End, Hash, List, Set, Str, Stream, Value, ZSet};

/// The number of damaged files that are read.
const TRIES: usize = 150_000;
/// Bytes that have a meaning somewhere in the format.
const TELLING: &[u8] = &[
    0, 1, 2, 0x3f, 0x40, 0x7f, 0x80, 0x81, 0xc0, 0xc3, 244, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254,
    255,
];

/// A stream with a group, a consumer and a pending entry, as redis-server 7.0.15 writes it.
const STREAM: &[u8] = b"\
    \x13\x01\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x0166\0\0\0\x16\0\x02\x01\x01\x01\x01\x01\x81a\x02\0\
    \x01\x02\x01\0\x01\0\x01\x01\x01\x04\x01\x02\x01\x01\x01\0\x01\x02\x01\x04\x01\x01\x01\x02\x01\0\x01\
    \x01\x01\x81b\x02\x81c\x02\x06\x01\xff\x02\x03\x01\x01\x01\x03\x01\x03\x01\x01g\0\0\x81\xff\xff\xff\
    \xff\xff\xff\xff\xff\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0h\xe5\xcf\x8b\x01\0\0\x03\x01\x01c\xa5\
    \xd0\xfd\n\xa2\x01\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01";

/// A pseudo-random sequence of numbers, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// A value of each type, small and large.
fn values() -> Vec<Value> {
    let enc = Encodings::default();
    let long = "x".repeat(100);
    let (mut list, mut small, mut table) = (List::default(), Hash::default(), Hash::default());
    let (mut set, mut integers, mut zset) = (Set::default(), Set::default(), ZSet::default());
    for word in ["a", "1", "-70000", &long] {
        list.push(End::Right, word.as_bytes(), &enc);
        small.set(&word.as_bytes()[..1], b"v", &enc);
        table.set(word.as_bytes(), long.as_bytes(), &enc);
        set.add(word.as_bytes(), &enc);
        zset.insert(word.as_bytes(), 1.5, &enc);
    }
    let (mut timed, mut timed_table) = (small.clone(), table.clone());
    for field in ["a", "1"] {
        timed.set_deadline(field.as_bytes(), 1_900_000_000_000, 0, &enc);
        timed_table.set_deadline(field.as_bytes(), 1_900_000_000_500, 0, &enc);
    }
    let stream = crate::rdb::read_value(&mut crate::rdb::Reader::new(STREAM), &enc).unwrap();
    for n in 0..5 {
        integers.add((n * 70_000).to_string().as_bytes(), &enc);
    }
    vec![
        Value::Str(Str::new(b"12345")),
        Value::Str(Str::new(long.as_bytes())),
        Value::List(list),
        Value::Hash(small),
        Value::Hash(table),
        Value::Set(set),
        Value::Set(integers),
        Value::ZSet(zset),
        Value::Stream(Stream::new().into()),
        stream,
        Value::Hash(timed),
        Value::Hash(timed_table),
    ]
}

/// A file of these values, in two databases.
fn file(values: &[Value]) -> Vec<u8> {
    let mut file = FileWriter::new(&[("redis-ver", b"7.2.0"), ("redis-bits", b"64")], true);
    file.library(b"#!lua name=l\nredis.register_function('f', function() return 1 end)");
    for (db, deadline_ms) in [(0, None), (3, Some(1_900_000_000_000))] {
        file.database(db, values.len(), 0);
        for (number, value) in values.iter().enumerate() {
            let access = [Access::Unknown, Access::Idle(70), Access::Frequency(5)][number % 3];
            file.key(db, format!("key {number}").as_bytes(), deadline_ms, access, value);
        }
    }
    file.finish()
}

/// The number of keys of a file, and the number of bytes of its values.
fn read(file: &[u8]) -> Result<(usize, usize), FileError> {
    let enc = Encodings::default();
    let (mut reader, mut keys, mut bytes) = (FileReader::new(file)?, 0, 0);
    while let Some(part) = reader.next(&enc)? {
        if let Part::Key { value, .. } = part {
            keys += 1;
            bytes += value.heap_bytes();
        }
    }
    Ok((keys, bytes))
}

/// Gives a file the correct checksum.
fn seal(file: &mut Vec<u8>) {
    let crc = crc64(file);
    file.extend(crc.to_le_bytes());
}

#[test]
fn a_written_file_is_read_back() {
    let values = values();
    let file = file(&values);
    assert_eq!(&file[..HEADER], b"REDIS0011");
    let enc = Encodings::default();
    let mut reader = FileReader::new(&file).unwrap();
    let mut parts = Vec::new();
    while let Some(part) = reader.next(&enc).unwrap() {
        parts.push(part);
    }
    assert!(matches!(&parts[0], Part::About(name, value) if **name == *b"redis-ver" && **value == *b"7.2.0"));
    assert!(matches!(&parts[2], Part::Library(text) if text.starts_with(b"#!lua")));
    assert_eq!(parts.len(), 3 + 2 * values.len());
    for (number, part) in parts[3..].iter().enumerate() {
        let Part::Key { db, key, deadline_ms, access, value } = part else { panic!("{part:?}") };
        let (half, number) = (number / values.len(), number % values.len());
        assert_eq!((*db, *deadline_ms), [(0, None), (3, Some(1_900_000_000_000))][half]);
        assert_eq!(**key, *format!("key {number}").as_bytes());
        assert_eq!(*access, [Access::Unknown, Access::Idle(70), Access::Frequency(5)][number % 3]);
        assert_eq!(crate::rdb::dump(value), crate::rdb::dump(&values[number]));
    }
}

#[test]
fn invalid_files_are_refused_with_the_position() {
    let file = file(&values());
    for len in 0..file.len() {
        let error = read(&file[..len]).unwrap_err();
        assert!(error.is_cut_off() && error.offset <= len, "{len}: {error}");
    }
    let why = |file: &[u8]| read(file).unwrap_err().to_string();
    let mut wrong = file.clone();
    *wrong.last_mut().unwrap() ^= 1;
    assert!(why(&wrong).contains("Wrong RDB checksum expected: ("));
    for (begin, told) in [
        ("REDIS0013", "Can't handle RDB format version 13"),
        ("REDIS0080", "Can't handle RDB format version 80"),
        ("VALKEY011", "Can't handle RDB format version 11"),
        ("REDIS0000", "Can't handle RDB format version "),
        ("HELLO0011", "Wrong signature trying to load DB from file"),
    ] {
        wrong[..HEADER].copy_from_slice(begin.as_bytes());
        assert_eq!(why(&wrong), format!("Internal error in RDB reading offset 0 -> {told}"));
    }
    assert_eq!(
        why(b"REDIS0011\x63\x00"),
        "Internal error in RDB reading offset 9 -> Unknown RDB encoding type 99"
    );
    // The name is that by which redis-server 7.0.15 reports the type with this number.
    for form in [b"\x06", b"\x07"] {
        let module = [b"REDIS0009", &form[..], b"\x01k\x81\x12\x34\x56\x78\x9a\xbc\xde\xf0"].concat();
        assert_eq!(
            why(&module),
            "Internal error in RDB reading offset 9 -> The RDB file contains module data I can't load: no matching \
             module type 'EjRWeJq83'"
        );
    }
    assert_eq!(
        why(b"REDIS0009\x07\x01k\x81\x12"),
        "Internal error in RDB reading offset 13 -> Unexpected EOF reading RDB file"
    );
    assert_eq!(
        why(b"REDIS0011\xfe"),
        "Internal error in RDB reading offset 10 -> Unexpected EOF reading RDB file"
    );
}

#[test]
fn files_of_all_versions_are_read() {
    let body = b"\xfe\x00\xfd\x00\x00\x00\x7f\x00\x01k\x01v\xff";
    for version in ["REDIS0001", "REDIS0004"] {
        assert_eq!(read(&[version.as_bytes(), body].concat()).map(|(keys, _)| keys), Ok(1), "{version}");
    }
    for version in ["REDIS0005", "REDIS0009", "REDIS0012", "VALKEY080"] {
        let mut file = [version.as_bytes(), body].concat();
        assert!(read(&file).is_err(), "{version} without its checksum");
        let unchecked = [&file[..], &[0; 8]].concat();
        assert_eq!(read(&unchecked).map(|(keys, _)| keys), Ok(1), "{version}");
        seal(&mut file);
        assert_eq!(read(&file).map(|(keys, _)| keys), Ok(1), "{version}");
    }
}

#[test]
fn data_of_modules_and_clusters_are_skipped() {
    let mut file =
        b"REDIS0012\xf4\x05\x01\x00\xf7\x81\0\0\0\0\0\0\0\x07\x02\x02\x05\x03abc\x02\x09\x04".to_vec();
    file.extend(b"12345678\x00\xfe\x00\x00\x01k\x01v\xff");
    seal(&mut file);
    assert_eq!(read(&file).map(|(keys, _)| keys), Ok(1));
}

#[test]
fn no_file_causes_a_panic() {
    let file = file(&values());
    let body = &file[..file.len() - 8];
    let mut numbers = Numbers(7);
    let (mut whole, mut refused) = (0, 0);
    for _ in 0..TRIES {
        let mut changed = body.to_vec();
        for _ in 0..=numbers.below(3) {
            let at = HEADER + numbers.below(changed.len() - HEADER);
            match numbers.below(6) {
                0 => changed.truncate(at.max(HEADER + 1)),
                1 => drop(changed.remove(at)),
                2 => changed.insert(at, TELLING[numbers.below(TELLING.len())]),
                3 => changed[at] ^= 1 << numbers.below(8),
                4 => changed[at] = TELLING[numbers.below(TELLING.len())],
                _ => changed[at] = numbers.below(256) as u8,
            }
            changed.resize(changed.len().max(HEADER + 1), 255);
        }
        seal(&mut changed);
        match read(&changed) {
            Ok((_, bytes)) => {
                assert!(bytes <= 1024 + 100 * changed.len(), "{bytes} bytes of {}", changed.len());
                whole += 1;
            }
            Err(error) => {
                assert!(error.offset <= changed.len());
                refused += 1;
            }
        }
    }
    assert!(whole > TRIES / 100 && refused > TRIES / 100, "{whole} and {refused}");
}
