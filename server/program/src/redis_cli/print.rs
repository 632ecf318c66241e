//! The printed form of replies, as in redis-cli if standard output is no terminal.

use lockwheel_resp::{Elements, Value, number};

/// Appends a reply. Strings are printed as they are, collections with one line for each element.
pub(super) fn raw(reply: Value<'_>, out: &mut Vec<u8>) {
    match reply {
        Value::Simple(text) | Value::Bulk(text) | Value::BigNumber(text) | Value::Verbatim(_, text) => {
            out.extend_from_slice(text);
        }
        // An error has its own line end.
        Value::Error(text) | Value::BlobError(text) => {
            out.extend_from_slice(text);
            out.push(b'\n');
        }
        Value::Integer(value) => number::write_i64(value, out),
        Value::Double(value) => number::format_double(value, out),
        Value::Boolean(value) => out.extend_from_slice(if value { b"(true)" } else { b"(false)" }),
        Value::Null => {}
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => lines(elements, out),
        Value::Map(elements) => pairs(elements, out),
    }
}

fn lines(elements: Elements<'_>, out: &mut Vec<u8>) {
    for (index, element) in elements.enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        raw(element, out);
    }
}

fn pairs(elements: Elements<'_>, out: &mut Vec<u8>) {
    for (index, element) in elements.enumerate() {
        match index % 2 {
            1 => out.push(b' '),
            _ if index > 0 => out.push(b'\n'),
            _ => {}
        }
        raw(element, out);
    }
}

/// Whether the reply is a text of several lines, after which no line end is printed.
pub(super) fn is_plain(command: &[Vec<u8>]) -> bool {
    let is = |index: usize, name: &str| {
        command.get(index).is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    let subcommands: &[(&str, &[&str])] = &[
        ("client", &["info", "list"]),
        ("cluster", &["info", "nodes"]),
        ("debug", &["htstats", "htstats-key"]),
        ("latency", &["doctor", "graph"]),
        ("memory", &["doctor", "malloc-stats"]),
    ];
    is(0, "info")
        || is(0, "lolwut")
        || subcommands.iter().any(|(name, seconds)| is(0, name) && seconds.iter().any(|second| is(1, second)))
}

/// Whether more output follows the reply.
pub(super) fn goes_on(command: &[Vec<u8>]) -> bool {
    let names: [&[u8]; 4] = [b"subscribe", b"psubscribe", b"ssubscribe", b"monitor"];
    names.iter().any(|name| command[0].eq_ignore_ascii_case(name))
}
