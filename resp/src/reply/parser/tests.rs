//! Tests of replies, whole and in pieces, against another implementation of the protocol.

use super::*;
use crate::{Elements, Value};
use proptest::prelude::*;
use redis_protocol::resp3::types::{FrameMap, OwnedFrame as Frame, Resp3Frame, VerbatimStringFormat};
use redis_protocol::{resp2, resp2::types::Resp2Frame, resp3};
use std::fmt::Debug;

/// The mark of a map in which a key is repeated.
const REPEATED_KEY: &str = "repeated key";

/// The result of reading a stream of bytes, with each reply as `T`.
#[derive(Debug, PartialEq)]
struct Read<T> {
    replies: Vec<T>,
    lengths: Vec<usize>,
    error: Option<InvalidReply>,
}

/// Reads pieces of a stream as a client does.
fn read_as<'a, T: Debug>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limits: &ReplyLimits,
    convert: fn(Value<'_>, Option<Elements<'_>>) -> T,
) -> Read<T> {
    let (mut parser, mut replies, mut buf) = (ReplyParser::new(), Replies::new(), Vec::new());
    let mut read = Read { replies: Vec::new(), lengths: Vec::new(), error: None };
    for piece in pieces {
        buf.extend_from_slice(piece);
        let result = parser.parse(&buf, limits, &mut replies);
        for i in 0..replies.len() {
            read.replies.push(convert(replies.value(i, &buf), replies.attributes(i, &buf)));
            read.lengths.push(replies.range(i).len());
        }
        buf.drain(..replies.consumed());
        if read.error.is_some() {
            assert_eq!(result.err(), read.error, "an error stays");
        }
        read.error = result.err();
    }
    read
}

fn read_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limits: &ReplyLimits) -> Read<String> {
    read_as(pieces, limits, |value, attributes| {
        let attributes = attributes.map(|attributes| attributes.map(shown).collect::<Vec<_>>());
        format!("{attributes:?} {}", shown(value))
    })
}

fn read(stream: &[u8]) -> Read<String> {
    read_pieces([stream], &ReplyLimits::default())
}

/// The pieces of a stream, with these sizes.
fn pieces<'a>(stream: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let (mut rest, mut pieces) = (stream, Vec::new());
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, later) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = later;
    }
    pieces
}

/// A value in the form of the other implementation.
fn frame(value: Value<'_>, attributes: Option<Elements<'_>>) -> Frame {
    let attributes = attributes.map(pairs);
    match value {
        Value::Simple(data) => Frame::SimpleString { data: data.to_vec(), attributes },
        Value::Error(data) => {
            Frame::SimpleError { data: String::from_utf8_lossy(data).into_owned(), attributes }
        }
        Value::Integer(data) => Frame::Number { data, attributes },
        Value::Bulk(data) => Frame::BlobString { data: data.to_vec(), attributes },
        Value::Null => Frame::Null,
        Value::Double(data) => Frame::Double { data, attributes },
        Value::Boolean(data) => Frame::Boolean { data, attributes },
        Value::BigNumber(data) => Frame::BigNumber { data: data.to_vec(), attributes },
        Value::BlobError(data) => Frame::BlobError { data: data.to_vec(), attributes },
        Value::Verbatim(format, data) => {
            let markdown = format == b"mkd";
            let format = if markdown { VerbatimStringFormat::Markdown } else { VerbatimStringFormat::Text };
            Frame::VerbatimString { data: data.to_vec(), format, attributes }
        }
        Value::Array(elements) => Frame::Array { data: frames(elements), attributes },
        Value::Map(elements) => Frame::Map { data: pairs(elements), attributes },
        Value::Set(elements) => Frame::Set { data: frames(elements).into_iter().collect(), attributes },
        Value::Push(elements) => Frame::Push { data: frames(elements), attributes },
    }
}

fn frames(mut elements: Elements<'_>) -> Vec<Frame> {
    let mut frames = Vec::with_capacity(elements.len());
    loop {
        let attributes = elements.attributes();
        let Some(value) = elements.next() else { return frames };
        frames.push(frame(value, attributes));
    }
}

/// A map in the form of the other implementation. It is marked if a key is repeated, since the other's choice of the
/// value is random.
fn pairs(elements: Elements<'_>) -> FrameMap<Frame, Frame> {
    let (mut frames, mut map) = (frames(elements).into_iter(), FrameMap::new());
    while let (Some(key), Some(value)) = (frames.next(), frames.next()) {
        if map.insert(key, value).is_some() {
            map.insert(Frame::SimpleError { data: REPEATED_KEY.into(), attributes: None }, Frame::Null);
        }
    }
    map
}

fn encoded(frame: &Frame) -> Vec<u8> {
    let mut out = vec![0; frame.encode_len(false)];
    let len = resp3::encode::complete::encode(&mut out, frame, false).unwrap();
    out.truncate(len);
    out
}

/// The replies that the other implementation reads, as far as it can.
fn read_by_other(mut stream: &[u8]) -> (Vec<Frame>, Vec<usize>) {
    let (mut replies, mut lengths) = (Vec::new(), Vec::new());
    while let Ok(Some((frame, len))) = resp3::decode::complete::decode(stream) {
        replies.push(frame);
        lengths.push(len);
        stream = &stream[len..];
    }
    (replies, lengths)
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![prop::collection::vec(any::<u8>(), 0..30), "[\r\n:$*-]{0,6}".prop_map(String::into_bytes)]
}

/// A value that may be a key, a member or an attribute.
fn plain() -> impl Strategy<Value = Frame> {
    prop_oneof![
        bytes().prop_map(|data| Frame::BlobString { data, attributes: None }),
        "[ -~]{0,20}".prop_map(|text| Frame::SimpleString { data: text.into_bytes(), attributes: None }),
        any::<i64>().prop_map(|data| Frame::Number { data, attributes: None }),
        (0..200_i64).prop_map(|data| Frame::Number { data, attributes: None }),
    ]
}

fn attributes() -> impl Strategy<Value = Option<FrameMap<Frame, Frame>>> {
    prop_oneof![
        4 => Just(None),
        1 => prop::collection::hash_map(plain(), plain(), 1..3).prop_map(|map| Some(map.into_iter().collect())),
    ]
}

fn reply() -> impl Strategy<Value = Frame> {
    let not_nan = any::<f64>().prop_filter("equal to itself", |value| !value.is_nan());
    let format = prop::sample::select(vec![VerbatimStringFormat::Text, VerbatimStringFormat::Markdown]);
    let leaf = prop_oneof![
        3 => plain(),
        1 => Just(Frame::Null),
        1 => "[ -~\u{e9}]{0,20}".prop_map(|data| Frame::SimpleError { data, attributes: None }),
        1 => not_nan.prop_map(|data| Frame::Double { data, attributes: None }),
        1 => any::<bool>().prop_map(|data| Frame::Boolean { data, attributes: None }),
        1 => (any::<i128>(), attributes()).prop_map(|(value, attributes)| {
            Frame::BigNumber { data: value.to_string().into_bytes(), attributes }
        }),
        1 => bytes().prop_map(|data| Frame::BlobError { data, attributes: None }),
        1 => (bytes(), format).prop_map(|(data, format)| {
            Frame::VerbatimString { data, format, attributes: None }
        }),
        1 => (bytes(), attributes()).prop_map(|(data, attributes)| Frame::BlobString { data, attributes }),
    ];
    leaf.prop_recursive(4, 40, 8, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..8);
        let map = prop::collection::hash_map(plain(), inner, 0..6);
        let set = prop::collection::hash_set(plain(), 0..8);
        prop_oneof![
            3 => (list.clone(), attributes()).prop_map(|(data, attributes)| Frame::Array { data, attributes }),
            1 => list.prop_map(|data| Frame::Push { data, attributes: None }),
            1 => (map, attributes()).prop_map(|(map, attributes)| {
                Frame::Map { data: map.into_iter().collect(), attributes }
            }),
            1 => (set, attributes()).prop_map(|(set, attributes)| {
                Frame::Set { data: set.into_iter().collect(), attributes }
            }),
        ]
    })
}

/// A reply of RESP2, in the other implementation's forms of RESP2 and RESP3.
fn reply_of_resp2() -> impl Strategy<Value = resp2::types::OwnedFrame> {
    use resp2::types::OwnedFrame as Frame;
    let leaf = prop_oneof![
        "[ -~]{0,20}".prop_map(|text| Frame::SimpleString(text.into_bytes())),
        "[ -~]{0,20}".prop_map(Frame::Error),
        any::<i64>().prop_map(Frame::Integer),
        bytes().prop_map(Frame::BulkString),
        Just(Frame::Null),
    ];
    leaf.prop_recursive(4, 40, 8, |inner| prop::collection::vec(inner, 0..8).prop_map(Frame::Array))
}

fn in_resp3(frame: &resp2::types::OwnedFrame) -> Frame {
    use resp2::types::OwnedFrame as Frame2;
    let attributes = None;
    match frame.clone() {
        Frame2::SimpleString(data) => Frame::SimpleString { data, attributes },
        Frame2::Error(data) => Frame::SimpleError { data, attributes },
        Frame2::Integer(data) => Frame::Number { data, attributes },
        Frame2::BulkString(data) => Frame::BlobString { data, attributes },
        Frame2::Array(data) => Frame::Array { data: data.iter().map(in_resp3).collect(), attributes },
        Frame2::Null => Frame::Null,
    }
}

fn assert_read_in_any_pieces(stream: &[u8], sizes: &[usize], expected: &Read<Frame>) {
    let limits = ReplyLimits::default();
    assert_eq!(&read_as([stream], &limits, frame), expected);
    for at in 0..stream.len() {
        let (before, after) = stream.split_at(at);
        assert_eq!(&read_as([before, after], &limits, frame), expected, "cut at {at}");
    }
    assert_eq!(&read_as(stream.chunks(1), &limits, frame), expected);
    assert_eq!(&read_as(pieces(stream, sizes), &limits, frame), expected);
}

proptest! {
    #[test]
    fn replies_of_resp3_are_read_as_another_implementation_reads_them(
        replies in prop::collection::vec(reply(), 1..4),
        sizes in prop::collection::vec(1_usize..30, 1..50),
    ) {
        let stream: Vec<u8> = replies.iter().flat_map(encoded).collect();
        let (other, lengths) = read_by_other(&stream);
        prop_assert_eq!(&other, &replies);
        assert_read_in_any_pieces(&stream, &sizes, &Read { replies, lengths, error: None });
    }

    #[test]
    fn replies_of_resp2_are_read_as_another_implementation_reads_them(
        replies in prop::collection::vec(reply_of_resp2(), 1..4),
        sizes in prop::collection::vec(1_usize..30, 1..50),
    ) {
        let (mut stream, mut lengths) = (Vec::new(), Vec::new());
        for reply in &replies {
            let start = stream.len();
            stream.resize(start + reply.encode_len(false), 0);
            resp2::encode::encode(&mut stream[start..], reply, false).unwrap();
            let (other, len) = resp2::decode::decode(&stream[start..]).unwrap().unwrap();
            prop_assert_eq!(&other, reply);
            lengths.push(len);
        }
        let replies = replies.iter().map(in_resp3).collect();
        assert_read_in_any_pieces(&stream, &sizes, &Read { replies, lengths, error: None });
    }

    #[test]
    fn what_both_read_of_damaged_replies_is_the_same(
        replies in prop::collection::vec(reply(), 1..4),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        sizes in prop::collection::vec(1_usize..30, 1..50),
    ) {
        let mut stream: Vec<u8> = replies.iter().flat_map(encoded).collect();
        for (at, byte) in damage {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        let (other, lengths) = read_by_other(&stream);
        let (mut parser, mut replies) = (ReplyParser::new(), Replies::new());
        parser.parse(&stream, &ReplyLimits::default(), &mut replies).ok();
        for i in 0..replies.len().min(other.len()) {
            prop_assert_eq!(replies.range(i).len(), lengths[i]);
            let ours = frame(replies.value(i, &stream), replies.attributes(i, &stream));
            let text = format!("{ours:?}");
            // NaN equals nothing.
            let alike = ours == other[i] || text.contains("NaN") || text.contains(REPEATED_KEY);
            prop_assert!(alike, "{text} here, there {:?}", other[i]);
        }
        prop_assert_eq!(read_pieces(pieces(&stream, &sizes), &ReplyLimits::default()), read(&stream));
    }

    #[test]
    fn no_bytes_panic(
        stream in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(&b"+-:$*_#,(!=%~>|\r\n\r\n\r\n0123tfx"[..])],
            0..200,
        ),
    ) {
        let limits = ReplyLimits { max_len: 100, max_depth: 3 };
        let whole = read_pieces([&stream[..]], &limits);
        prop_assert_eq!(read_pieces(stream.chunks(1), &limits), whole);
    }

    #[test]
    fn what_was_read_is_not_read_again(reply in reply()) {
        let stream = encoded(&reply);
        let limits = ReplyLimits::default();
        let (mut parser, mut replies) = (ReplyParser::new(), Replies::new());
        let mut buf = Vec::new();
        for &byte in &stream {
            prop_assert!(replies.is_empty());
            // The bytes that the parser has passed become line ends, at which it would stop if it read them again.
            let passed = parser.pos;
            buf[..passed].fill(b'\n');
            if matches!(buf.get(passed), Some(b'+' | b'-')) && parser.scanned > 1 {
                for (i, byte) in buf[passed + 1..passed + parser.scanned].iter_mut().enumerate() {
                    *byte = if i % 2 == 0 { b'\r' } else { b'\n' };
                }
            }
            buf.push(byte);
            prop_assert_eq!(parser.parse(&buf, &limits, &mut replies), Ok(()));
            prop_assert!(replies.len() == 1 || parser.pos >= passed);
        }
        prop_assert_eq!((replies.len(), replies.consumed()), (1, stream.len()));
    }
}

#[test]
fn each_type_has_its_value() {
    let nothing = Read { replies: Vec::new(), lengths: Vec::new(), error: None };
    let values = |stream: &str| {
        let (mut parser, mut replies) = (ReplyParser::new(), Replies::new());
        assert_eq!(
            parser.parse(stream.as_bytes(), &ReplyLimits::default(), &mut replies),
            Ok(()),
            "{stream}"
        );
        assert_eq!((replies.len(), replies.consumed()), (1, stream.len()), "{stream}");
        assert_eq!(replies.range(0), 0..stream.len());
        for cut in 0..stream.len() {
            assert_eq!(read(&stream.as_bytes()[..cut]), nothing, "{stream} cut at {cut}");
        }
        shown(replies.value(0, stream.as_bytes()))
    };
    for (stream, value) in [
        ("+OK\r\n", "Simple OK"),
        ("+\r\n", "Simple "),
        ("+a\rb\nc\r\r\n", "Simple a\\rb\\nc\\r"),
        ("-ERR no\r\n", "Error ERR no"),
        (":7\r\n", "Integer 7"),
        (":-12\r\n", "Integer -12"),
        (":+0012\r\n", "Integer 12"),
        (":9223372036854775807\r\n", "Integer 9223372036854775807"),
        ("$0\r\n\r\n", "Bulk "),
        ("$5\r\na\r\nbc\r\n", "Bulk a\\r\\nbc"),
        ("$10\r\n0123456789\r\n", "Bulk 0123456789"),
        ("$-1\r\n", "Null"),
        ("*-1\r\n", "Null"),
        ("_\r\n", "Null"),
        (",1.5\r\n", "Double 1.5"),
        (",-inf\r\n", "Double -inf"),
        (",nan\r\n", "Double NaN"),
        ("#t\r\n", "Boolean true"),
        ("#f\r\n", "Boolean false"),
        (
            "(-3492890328409238509324850943850943825024385\r\n",
            "BigNumber -3492890328409238509324850943850943825024385",
        ),
        ("!5\r\nERR x\r\n", "BlobError ERR x"),
        ("=6\r\nmkd:*a\r\n", "Verbatim mkd *a"),
        ("=4\r\ntxt:\r\n", "Verbatim txt "),
        ("*0\r\n", "Array[]"),
        ("*3\r\n:1\r\n*2\r\n$1\r\nx\r\n+y\r\n:2\r\n", "Array[Integer 1, Array[Bulk x, Simple y], Integer 2]"),
        ("%1\r\n+a\r\n_\r\n", "Map[Simple a, Null]"),
        ("%0\r\n", "Map[]"),
        ("~2\r\n:1\r\n:2\r\n", "Set[Integer 1, Integer 2]"),
        (">2\r\n+message\r\n*0\r\n", "Push[Simple message, Array[]]"),
        ("|1\r\n+ttl\r\n:3\r\n*2\r\n|1\r\n+k\r\n~0\r\n:1\r\n|0\r\n+b\r\n", "Array[Integer 1, Simple b]"),
    ] {
        assert_eq!(values(stream), value);
    }
}

fn shown(value: Value<'_>) -> String {
    let text = |name: &str, bytes: &[u8]| format!("{name} {}", bytes.escape_ascii());
    let list = |name: &str, elements: Elements<'_>| {
        format!("{name}[{}]", elements.map(shown).collect::<Vec<_>>().join(", "))
    };
    match value {
        Value::Simple(bytes) => text("Simple", bytes),
        Value::Error(bytes) => text("Error", bytes),
        Value::Integer(value) => format!("Integer {value}"),
        Value::Bulk(bytes) => text("Bulk", bytes),
        Value::Null => "Null".to_string(),
        Value::Double(value) => format!("Double {value}"),
        Value::Boolean(value) => format!("Boolean {value}"),
        Value::BigNumber(bytes) => text("BigNumber", bytes),
        Value::BlobError(bytes) => text("BlobError", bytes),
        Value::Verbatim(format, bytes) => text("Verbatim", &[format, b" ", bytes].concat()),
        Value::Array(elements) => list("Array", elements),
        Value::Map(elements) => list("Map", elements),
        Value::Set(elements) => list("Set", elements),
        Value::Push(elements) => list("Push", elements),
    }
}

#[test]
fn attributes_are_returned_with_their_value() {
    let stream = b"|1\r\n+ttl\r\n:3\r\n*2\r\n|1\r\n+k\r\n|1\r\n+x\r\n+y\r\n*1\r\n:8\r\n:1\r\n+b\r\n+next\r\n";
    let (mut parser, mut replies) = (ReplyParser::new(), Replies::new());
    assert_eq!(parser.parse(stream, &ReplyLimits::default(), &mut replies), Ok(()));
    assert_eq!((replies.len(), replies.range(1)), (2, stream.len() - 7..stream.len()));
    let list = |elements: Elements<'_>| elements.map(shown).collect::<Vec<_>>();
    assert_eq!(replies.attributes(0, stream).map(list).unwrap(), ["Simple ttl", "Integer 3"]);
    assert!(replies.attributes(1, stream).is_none());
    let Value::Array(mut elements) = replies.value(0, stream) else { panic!("not an array") };
    assert_eq!(elements.len(), 2);
    let mut attributes = elements.attributes().unwrap();
    assert_eq!(list(attributes.clone()), ["Simple k", "Array[Integer 8]"]);
    attributes.next();
    assert_eq!(attributes.attributes().map(list).unwrap(), ["Simple x", "Simple y"]);
    assert_eq!(elements.next().map(shown).unwrap(), "Integer 1");
    assert!(elements.attributes().is_none());
    assert_eq!(elements.next().map(shown).unwrap(), "Simple b");
    assert!(elements.attributes().is_none() && elements.next().is_none() && elements.next().is_none());
}

#[test]
fn invalid_replies_are_reported() {
    for (stream, error) in [
        ("x", InvalidReply::Type(b'x')),
        ("HTTP/1.1 400\r\n", InvalidReply::Type(b'H')),
        ("\r\n", InvalidReply::Type(b'\r')),
        ("*1\r\n?\r\n", InvalidReply::Type(b'?')),
        ("$x\r\n", InvalidReply::Length),
        ("$\r\n", InvalidReply::Length),
        ("$?\r\n", InvalidReply::Length),
        ("$-2\r\n", InvalidReply::Length),
        ("$+1\r\n", InvalidReply::Length),
        ("!-1\r\n", InvalidReply::Length),
        ("=-1\r\n", InvalidReply::Length),
        ("=3\r\n", InvalidReply::Length),
        ("*-2\r\n", InvalidReply::Length),
        ("*?\r\n", InvalidReply::Length),
        ("%-1\r\n", InvalidReply::Length),
        ("~-1\r\n", InvalidReply::Length),
        (">-1\r\n", InvalidReply::Length),
        ("|-1\r\n", InvalidReply::Length),
        ("$1\rxa\r\n", InvalidReply::Length),
        ("$99999999999999999999\r\n", InvalidReply::Length),
        (":\r\n", InvalidReply::Value(b':')),
        (":1.0\r\n", InvalidReply::Value(b':')),
        (":9223372036854775808\r\n", InvalidReply::Value(b':')),
        (",\r\n", InvalidReply::Value(b',')),
        (",1x\r\n", InvalidReply::Value(b',')),
        ("#x\r\n", InvalidReply::Value(b'#')),
        ("#\r\n", InvalidReply::Value(b'#')),
        ("_x\r\n", InvalidReply::Value(b'_')),
        ("(\r\n", InvalidReply::Value(b'(')),
        ("(-\r\n", InvalidReply::Value(b'(')),
        ("(1.5\r\n", InvalidReply::Value(b'(')),
        ("=5\r\ntxt.a\r\n", InvalidReply::Value(b'=')),
        ("$1\r\nabc\r\n", InvalidReply::LineEnd),
        ("$1\r\na\n\r", InvalidReply::LineEnd),
        ("|0\r\n|0\r\n+a\r\n", InvalidReply::Attributes),
        ("|1\r\n+a\r\n+b\r\n|1\r\n", InvalidReply::Attributes),
        ("$9223372036854775807\r\n", InvalidReply::TooLong),
        ("%9223372036854775807\r\n", InvalidReply::TooLong),
    ] {
        for before in ["", "+before\r\n"] {
            let stream = format!("{before}{stream}");
            let limits = ReplyLimits::default();
            let whole = read_pieces([stream.as_bytes(), &b"+OK\r\n"[..]], &limits);
            assert_eq!((whole.error, whole.replies.len()), (Some(error), before.len() / 9), "{stream:?}");
            assert_eq!(read_pieces(stream.as_bytes().chunks(1), &limits).error, Some(error), "{stream:?}");
        }
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn no_reply_is_longer_or_deeper_than_may_be() {
    let limits = ReplyLimits { max_len: 40, max_depth: 3 };
    let error = |stream: &str| {
        let whole = read_pieces([stream.as_bytes()], &limits).error;
        assert_eq!(read_pieces(stream.as_bytes().chunks(1), &limits).error, whole, "{stream}");
        whole
    };
    // Each case is of the maximum length, or one byte longer. A reply that announces its length is refused before its
    // bytes arrive.
    for (fits, exceeds) in [
        (format!("${}\r\n{}\r\n", 33, "x".repeat(33)), "$34\r\n".to_string()),
        (format!("+{}\r\n", "x".repeat(37)), format!("+{}", "x".repeat(38))),
        (format!("({}\r\n", "1".repeat(37)), format!("({}", "1".repeat(38))),
        (format!(":{:037}\r\n", 1), format!(":{:038}", 1)),
        (format!("*11\r\n{}", "_\r\n".repeat(11)), "*12\r\n".to_string()),
        (format!("%6\r\n{}", "_\r\n".repeat(12)), "%7\r\n".to_string()),
        (format!("*8\r\n{}", ":1\r\n".repeat(9)), format!("*10\r\n{}:1", ":1\r\n".repeat(8))),
        ("*2\r\n$23\r\n".to_string() + &"x".repeat(23) + "\r\n_\r\n", "*2\r\n_\r\n$27\r\n".to_string()),
        ("*1\r\n*1\r\n%1\r\n_\r\n*0\r\n".to_string(), "*1\r\n*1\r\n*1\r\n*1\r\n".to_string()),
        ("*1\r\n*1\r\n|1\r\n+a\r\n+b\r\n:1\r\n".to_string(), "*1\r\n*1\r\n*1\r\n|1\r\n".to_string()),
    ] {
        assert_eq!(error(&fits), None, "{fits}");
        let expected =
            if exceeds.starts_with("*1\r\n*1\r\n") { InvalidReply::TooDeep } else { InvalidReply::TooLong };
        assert_eq!(error(&exceeds), Some(expected), "{exceeds}");
    }
    // A number cannot go on for ever either, however long replies may be.
    let stream = [b":", &[b'1'; MAX_LINE + 1][..]].concat();
    assert_eq!(read(&stream[..MAX_LINE]).error, None);
    assert_eq!(read(&stream).error, Some(InvalidReply::TooLong));
}

#[test]
fn any_depth_is_read_without_recursion() {
    const DEPTH: usize = 1_000_000;
    let limits = ReplyLimits { max_depth: DEPTH, ..ReplyLimits::default() };
    let stream = ["*1\r\n".repeat(DEPTH), ":7\r\n+next\r\n".to_string()].concat().into_bytes();
    let (mut parser, mut replies) = (ReplyParser::new(), Replies::new());
    assert_eq!(parser.parse(&stream[..DEPTH], &limits, &mut replies), Ok(()));
    assert!(replies.is_empty());
    assert_eq!(parser.parse(&stream, &limits, &mut replies), Ok(()));
    assert_eq!((replies.len(), replies.range(0).end), (2, DEPTH * 4 + 4));
    let mut value = replies.value(0, &stream);
    let mut depth = 0;
    while let Value::Array(mut elements) = value {
        depth += 1;
        value = elements.next().unwrap();
    }
    assert_eq!((depth, shown(value)), (DEPTH, "Integer 7".to_string()));
    assert_eq!(read(&stream).error, Some(InvalidReply::TooDeep));
}

#[test]
fn memory_grows_with_what_has_arrived_only() {
    let (mut parser, mut replies) = (ReplyParser::new(), Replies::new());
    let limits = ReplyLimits { max_len: usize::MAX, ..ReplyLimits::default() };
    let kept = |parser: &ReplyParser| {
        parser.nodes.capacity() * size_of::<Node>() + parser.open.capacity() * size_of::<Open>()
    };
    let stream = b"*2147483647\r\n%2147483647\r\n$9000000000000000000\r\n";
    assert_eq!(parser.parse(stream, &limits, &mut replies), Ok(()));
    assert!(kept(&parser) < 1024);
    let large = [b"*100000\r\n", &b":1\r\n".repeat(100_000)[..]].concat();
    parser = ReplyParser::new();
    assert_eq!(parser.parse(&large[..large.len() - 1], &limits, &mut replies), Ok(()));
    assert!(kept(&parser) >= 100_000 * size_of::<Node>());
    assert_eq!(parser.parse(&large, &limits, &mut replies), Ok(()));
    assert_eq!(replies.len(), 1);
    replies.clear();
    assert!(kept(&parser) + replies.nodes.capacity() * size_of::<Node>() < 256 * 1024);
}
