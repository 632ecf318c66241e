//! Tests of the format's primitives against redis-server 7.0.15, and by round trips.

use super::*;
use crate::values::{Encoding, Encodings, End, Hash, List, Set, Str, Value, ZSet};
use proptest::prelude::*;

fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    write(&mut writer);
    writer.written().to_vec()
}

#[test]
fn lengths_take_the_form_that_the_real_server_chooses() {
    for (length, bytes) in [
        (0, &b"\x00"[..]),
        (63, b"\x3f"),
        (64, b"\x40\x40"),
        (16_383, b"\x7f\xff"),
        (16_384, b"\x80\x00\x00\x40\x00"),
        (u32::MAX as usize, b"\x80\xff\xff\xff\xff"),
        (1 << 32, b"\x81\x00\x00\x00\x01\x00\x00\x00\x00"),
    ] {
        assert_eq!(written(|writer| writer.length(length)), bytes);
        assert_eq!(Reader::new(bytes).length(), Ok(length));
    }
    for bytes in [&b""[..], b"\x40", b"\x80\0\0\0", b"\x81\0\0\0\0\0\0\0", b"\x82\0\0\0\0\0\0\0\0", b"\xc0\0"]
    {
        assert_eq!(Reader::new(bytes).length(), Err(Corrupt), "{bytes:?}");
    }
}

#[test]
fn strings_take_the_form_that_the_real_server_chooses() {
    for (text, bytes) in [
        (&b""[..], &b"\x00"[..]),
        (b"a", b"\x01a"),
        (b"-128", b"\xc0\x80"),
        (b"128", b"\xc1\x80\x00"),
        (b"32768", b"\xc2\x00\x80\x00\x00"),
        (b"2147483648", b"\x0a2147483648"),
        (b"-2147483648", b"\xc2\x00\x00\x00\x80"),
        (b"01", b"\x0201"),
        (b"aaaaaaaaaaaaaaaaaaaa", b"\x14aaaaaaaaaaaaaaaaaaaa"),
        (b"aaaaaaaaaaaaaaaaaaaaa", b"\xc3\x06\x15\x01aa\xe0\x0a\x00"),
    ] {
        assert_eq!(written(|writer| writer.string(text)), bytes, "{}", text.escape_ascii());
        assert_eq!(Reader::new(bytes).string().as_deref(), Ok(text));
    }
}

#[test]
fn a_footer_is_checked() {
    // The payload that redis-server 7.0.15 replies for `SET k 1`, `DUMP k`.
    let real = b"\x00\xc0\x01\n\x00&x\xe7\xb6\xd1\x01\x11\xfc";
    let mut writer = Writer::new();
    writer.byte(0);
    writer.string(b"1");
    let ours = writer.finish(payload::VERSION_7_0);
    assert_eq!(ours, real);
    assert_eq!(payload::open(real), Ok(&b"\x00\xc0\x01"[..]));
    for len in 0..real.len() {
        assert_eq!(payload::open(&real[..len]), Err(payload::WrongFooter));
    }
    for (version, is_known) in
        [(1, true), (11, true), (12, true), (13, false), (79, false), (80, true), (81, false)]
    {
        let mut body = b"\x00\xc0\x01".to_vec();
        payload::seal(&mut body, version);
        assert_eq!(payload::open(&body).is_ok(), is_known, "{version}");
    }
}

proptest! {
    #[test]
    fn lengths_and_strings_are_read_back(
        lengths in prop::collection::vec(any::<usize>(), 0..10),
        texts in prop::collection::vec(prop_oneof!["[ab]{0,100}", "-?[0-9]{1,12}", ".{0,40}"], 0..10),
    ) {
        let bytes = written(|writer| {
            lengths.iter().for_each(|length| writer.length(*length));
            texts.iter().for_each(|text| writer.string(text.as_bytes()));
        });
        let mut reader = Reader::new(&bytes);
        for length in lengths {
            prop_assert_eq!(reader.length(), Ok(length));
        }
        for text in texts {
            let read = reader.string();
            prop_assert_eq!(read.as_deref(), Ok(text.as_bytes()));
        }
        prop_assert!(reader.is_at_end());
    }

    #[test]
    fn anything_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut reader = Reader::new(&bytes);
        while !reader.is_at_end() && reader.string().is_ok() {}
    }
}

fn small() -> Encodings {
    Encodings {
        hash_max_listpack_entries: 6,
        hash_max_listpack_value: 20,
        list_max_listpack_size: 4,
        set_max_intset_entries: 6,
        set_max_listpack_entries: 5,
        set_max_listpack_value: 20,
        zset_max_listpack_entries: 6,
        zset_max_listpack_value: 20,
        ..Encodings::default()
    }
}

fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let text = prop_oneof![
        4 => "[a-d]{0,3}".prop_map(String::into_bytes),
        2 => (any::<i64>(), 0_u32..64).prop_map(|(value, bits)| (value >> bits).to_string().into_bytes()),
        1 => (0_usize..60).prop_map(|len| vec![b'x'; len]),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(text, 1..14)
}

/// The value after it was written and read.
fn again(value: &Value) -> Value {
    let payload = dump(value);
    let mut reader = Reader::new(payload::open(&payload).expect("a right footer"));
    let read = read_value(&mut reader, &small()).expect("a value");
    assert!(reader.is_at_end());
    read
}

/// The elements of a value, each with its score or value; sorted if the encoding has no order.
fn elements(value: &Value) -> Vec<Vec<u8>> {
    let is_ordered = !matches!(value.encoding(), Encoding::Hashtable);
    let mut all: Vec<Vec<u8>> = match value {
        Value::Str(text) => vec![text.text().to_vec()],
        Value::List(list) => list.iter().map(<[u8]>::to_vec).collect(),
        Value::Hash(hash) => hash.iter().map(|pair| format!("{pair:?}").into_bytes()).collect(),
        Value::Set(set) => set.iter().map(|member| member.to_vec()).collect(),
        Value::ZSet(set) => set.iter().map(|pair| format!("{pair:?}").into_bytes()).collect(),
        Value::Stream(stream) => vec![format!("{stream:?}").into_bytes()],
    };
    if !is_ordered {
        all.sort();
    }
    all
}

#[test]
fn an_old_stream_gets_the_missing_fields() {
    let node =
        listpack::listpack(["2", "0", "1", "f", "0", "2", "0", "0", "v", "4", "2", "1", "0", "w", "4"]);
    let body = written(|writer| {
        writer.byte(types::STREAM);
        writer.length(1);
        writer.string(&[&5_u64.to_be_bytes()[..], &1_u64.to_be_bytes()].concat());
        writer.string(&node);
        [2, 6, 1, 1].iter().for_each(|number| writer.length(*number));
        writer.string(b"g");
        [5, 1, 0, 0].iter().for_each(|number| writer.length(*number));
    });
    let Ok(Value::Stream(stream)) = read_value(&mut Reader::new(&body), &small()) else {
        panic!("no stream")
    };
    let entries = stream.log.range(crate::values::stream::StreamId::MIN, stream.log.last_id());
    assert_eq!(entries.map(|entry| entry.id().to_string()).collect::<Vec<_>>(), ["5-1", "6-1"]);
    assert_eq!((stream.log.entries_added(), stream.groups.len()), (2, 1));
    assert_eq!(stream.groups.get(b"g").unwrap().entries_read, Some(1));
}

proptest! {
    #[test]
    fn values_are_read_back(
        texts in texts(),
        scores in prop::collection::vec(any::<i16>(), 14),
        by_left in any::<bool>(),
    ) {
        let enc = small();
        let (mut list, mut hash, mut set, mut zset) = (List::new(), Hash::new(), Set::new(), ZSet::new());
        for (text, score) in texts.iter().zip(scores) {
            list.push(if by_left { End::Left } else { End::Right }, text, &enc);
            hash.set(text, score.to_string().as_bytes(), &enc);
            set.add(text, &enc);
            zset.insert(text, f64::from(score) / 10.0, &enc);
        }
        let string = Value::Str(Str::new(&texts[0]));
        for value in [string, Value::List(list), Value::Hash(hash), Value::Set(set), Value::ZSet(zset)] {
            let read = again(&value);
            prop_assert_eq!(elements(&read), elements(&value));
            // A list stays large until it is half as large as its limit.
            if !matches!(value, Value::List(_)) {
                prop_assert_eq!(read.encoding(), value.encoding());
            }
            prop_assert_eq!(dump(&again(&read)), dump(&read));
        }
    }
}
