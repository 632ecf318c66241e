//! Tests of written replies, read back by another implementation of the protocol.

use super::*;
use proptest::prelude::*;
use redis_protocol::{resp2, resp3, resp3::types::VerbatimStringFormat};

/// A reply as a tree, for writing and comparing.
#[derive(Clone, Debug)]
enum Value {
    Status(Vec<u8>),
    Error(Vec<u8>),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    NullArray,
    Double(f64),
    Boolean(bool),
    BigNumber(i128),
    Verbatim(Vec<u8>),
    Array(Vec<Value>),
    Map(Vec<(Vec<u8>, Value)>),
    Set(Vec<Vec<u8>>),
    Push(Vec<Value>),
}

fn write(value: &Value, to: &mut impl Reply) {
    match value {
        Value::Status(text) => to.status(text),
        Value::Error(text) => to.error(text),
        Value::Integer(value) => to.integer(*value),
        Value::Bulk(bytes) => to.bulk(bytes),
        Value::Null => to.null(),
        Value::NullArray => to.null_array(),
        Value::Double(value) => to.double(*value),
        Value::Boolean(value) => to.boolean(*value),
        Value::BigNumber(value) => to.big_number(value.to_string().as_bytes()),
        Value::Verbatim(text) => to.verbatim(*b"txt", text),
        Value::Array(values) | Value::Push(values) => {
            if matches!(value, Value::Array(_)) {
                to.array(values.len())
            } else {
                to.push(values.len())
            }
            values.iter().for_each(|value| write(value, to));
        }
        Value::Map(pairs) => {
            to.map(pairs.len());
            for (key, value) in pairs {
                to.bulk(key);
                write(value, to);
            }
        }
        Value::Set(members) => {
            to.set(members.len());
            members.iter().for_each(|member| to.bulk(member));
        }
    }
}

fn written(value: &Value, protocol: Protocol) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut Writer::new(&mut out, protocol));
    out
}

fn one_line(text: &[u8]) -> Vec<u8> {
    text.iter().map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }).collect()
}

fn frame2(value: &Value) -> resp2::types::OwnedFrame {
    use resp2::types::OwnedFrame as Frame;
    match value {
        Value::Status(text) => Frame::SimpleString(one_line(text)),
        Value::Error(text) => Frame::Error(String::from_utf8(one_line(text)).unwrap()),
        Value::Integer(value) => Frame::Integer(*value),
        Value::Bulk(bytes) | Value::Verbatim(bytes) => Frame::BulkString(bytes.clone()),
        Value::Null | Value::NullArray => Frame::Null,
        Value::Double(value) => {
            let mut text = Vec::new();
            number::format_double(*value, &mut text);
            Frame::BulkString(text)
        }
        Value::Boolean(value) => Frame::Integer(i64::from(*value)),
        Value::BigNumber(value) => Frame::BulkString(value.to_string().into_bytes()),
        Value::Array(values) | Value::Push(values) => Frame::Array(values.iter().map(frame2).collect()),
        Value::Map(pairs) => Frame::Array(
            pairs.iter().flat_map(|(key, value)| [Frame::BulkString(key.clone()), frame2(value)]).collect(),
        ),
        Value::Set(members) => Frame::Array(members.iter().cloned().map(Frame::BulkString).collect()),
    }
}

fn frame3(value: &Value) -> resp3::types::OwnedFrame {
    use resp3::types::OwnedFrame as Frame;
    let bulk = |data: &[u8]| Frame::BlobString { data: data.to_vec(), attributes: None };
    match value {
        Value::Status(text) => Frame::SimpleString { data: one_line(text), attributes: None },
        Value::Error(text) => {
            Frame::SimpleError { data: String::from_utf8(one_line(text)).unwrap(), attributes: None }
        }
        Value::Integer(data) => Frame::Number { data: *data, attributes: None },
        Value::Bulk(bytes) => bulk(bytes),
        Value::Null | Value::NullArray => Frame::Null,
        Value::Double(data) => Frame::Double { data: *data, attributes: None },
        Value::Boolean(data) => Frame::Boolean { data: *data, attributes: None },
        Value::BigNumber(value) => {
            Frame::BigNumber { data: value.to_string().into_bytes(), attributes: None }
        }
        Value::Verbatim(text) => {
            Frame::VerbatimString { data: text.clone(), format: VerbatimStringFormat::Text, attributes: None }
        }
        Value::Array(values) => Frame::Array { data: values.iter().map(frame3).collect(), attributes: None },
        Value::Push(values) => Frame::Push { data: values.iter().map(frame3).collect(), attributes: None },
        Value::Map(pairs) => {
            let data = pairs.iter().map(|(key, value)| (bulk(key), frame3(value))).collect();
            Frame::Map { data, attributes: None }
        }
        Value::Set(members) => {
            Frame::Set { data: members.iter().map(|member| bulk(member)).collect(), attributes: None }
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    let text = || "[ -~\r\n]{0,20}".prop_map(String::into_bytes);
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let leaf = prop_oneof![
        text().prop_map(Value::Status),
        text().prop_map(Value::Error),
        any::<i64>().prop_map(Value::Integer),
        (-20_i64..200).prop_map(Value::Integer),
        bytes().prop_map(Value::Bulk),
        prop::collection::vec(any::<u8>(), 90..300).prop_map(Value::Bulk),
        Just(Value::Null),
        Just(Value::NullArray),
        any::<f64>().prop_filter("equal to itself", |value| !value.is_nan()).prop_map(Value::Double),
        (-100..100_i32).prop_map(|value| Value::Double(f64::from(value) / 4.0)),
        any::<bool>().prop_map(Value::Boolean),
        any::<i128>().prop_map(Value::BigNumber),
        bytes().prop_map(Value::Verbatim),
        prop::collection::hash_set(bytes(), 0..12).prop_map(|set| Value::Set(set.into_iter().collect())),
    ];
    leaf.prop_recursive(3, 40, 12, move |inner| {
        let pairs = prop::collection::hash_map(bytes(), inner.clone(), 0..12);
        prop_oneof![
            prop::collection::vec(inner, 0..12).prop_map(Value::Array),
            pairs.prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_client_of_resp2_reads_what_was_written(value in value()) {
        let bytes = written(&value, Protocol::Resp2);
        let (frame, len) = resp2::decode::decode(&bytes).unwrap().unwrap();
        prop_assert_eq!((frame, len), (frame2(&value), bytes.len()));
    }

    #[test]
    fn a_client_of_resp3_reads_what_was_written(value in value()) {
        let bytes = written(&value, Protocol::Resp3);
        let (frame, len) = resp3::decode::complete::decode(&bytes).unwrap().unwrap();
        prop_assert_eq!((frame, len), (frame3(&value), bytes.len()));
    }
}

#[test]
fn each_type_has_its_form_in_either_protocol() {
    let cases = [
        (Value::Status(b"OK".into()), "+OK\r\n", "+OK\r\n"),
        (Value::Status(b"a\r\nb".into()), "+a  b\r\n", "+a  b\r\n"),
        (Value::Error(b"ERR x\ny".into()), "-ERR x y\r\n", "-ERR x y\r\n"),
        (Value::Integer(-10), ":-10\r\n", ":-10\r\n"),
        (Value::Bulk(b"a\r\n".into()), "$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n"),
        (Value::Null, "$-1\r\n", "_\r\n"),
        (Value::NullArray, "*-1\r\n", "_\r\n"),
        (Value::Double(3.0), "$1\r\n3\r\n", ",3\r\n"),
        (Value::Double(0.1), "$3\r\n0.1\r\n", ",0.1\r\n"),
        (Value::Double(-0.0), "$2\r\n-0\r\n", ",-0\r\n"),
        (Value::Double(f64::INFINITY), "$3\r\ninf\r\n", ",inf\r\n"),
        (Value::Double(f64::NEG_INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n"),
        (Value::Double(f64::NAN), "$3\r\nnan\r\n", ",nan\r\n"),
        (Value::Double(0.1 + 0.2), "$19\r\n0.30000000000000004\r\n", ",0.30000000000000004\r\n"),
        (Value::Boolean(true), ":1\r\n", "#t\r\n"),
        (Value::Boolean(false), ":0\r\n", "#f\r\n"),
        (Value::BigNumber(12), "$2\r\n12\r\n", "(12\r\n"),
        (Value::Verbatim(b"ab".into()), "$2\r\nab\r\n", "=6\r\ntxt:ab\r\n"),
        (Value::Array(vec![]), "*0\r\n", "*0\r\n"),
        (
            Value::Array(vec![Value::Null; 10]),
            &format!("*10\r\n{}", "$-1\r\n".repeat(10)),
            &format!("*10\r\n{}", "_\r\n".repeat(10)),
        ),
        (
            Value::Map(vec![(b"k".into(), Value::Integer(1))]),
            "*2\r\n$1\r\nk\r\n:1\r\n",
            "%1\r\n$1\r\nk\r\n:1\r\n",
        ),
        (Value::Set(vec![b"m".into()]), "*1\r\n$1\r\nm\r\n", "~1\r\n$1\r\nm\r\n"),
        (Value::Push(vec![Value::Integer(0)]), "*1\r\n:0\r\n", ">1\r\n:0\r\n"),
    ];
    for (value, two, three) in cases {
        assert_eq!(String::from_utf8(written(&value, Protocol::Resp2)).unwrap(), two, "{value:?}");
        assert_eq!(String::from_utf8(written(&value, Protocol::Resp3)).unwrap(), three, "{value:?}");
    }
}
