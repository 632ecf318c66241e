//! An event as its message: its name, then its fields, `name=value` each.

use lockwheel_store::keyspace::{Effect, EventValue, Tx};

pub(in crate::locks) type EventFields<'f> = &'f [(&'static str, EventValue)];

/// Notifies listeners of an event. Without a listener it costs only the test, since callers build the fields lazily.
pub(in crate::locks) fn announce(
    tx: &mut Tx<'_>,
    key: &[u8],
    name: &str,
    fields: impl FnOnce() -> Vec<(&'static str, EventValue)>,
) {
    if tx.has_server_audience() {
        let effect = effect(tx.db(), key, name, &fields());
        tx.push_effect(effect);
    }
}

/// Returns the effect that brings an event to its listeners.
pub(in crate::locks) fn effect(db: usize, key: &[u8], name: &str, fields: EventFields<'_>) -> Effect {
    let channel = [format!("__lock@{db}__:").as_bytes(), key].concat();
    let mut message = name.as_bytes().to_vec();
    for (name, value) in fields {
        message.extend_from_slice(format!(" {name}=").as_bytes());
        match value {
            EventValue::Number(number) => message.extend_from_slice(number.to_string().as_bytes()),
            EventValue::Text(text) => write_text(text, &mut message),
        }
    }
    Effect::Announce { channel: channel.into(), message: message.into() }
}

/// Writes a text unchanged if it is one word. Otherwise writes it in quotes, escaped as at a terminal.
fn write_text(text: &[u8], message: &mut Vec<u8>) {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b'=');
    if !text.is_empty() && text.iter().all(is_plain) {
        return message.extend_from_slice(text);
    }
    message.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => message.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => message.push(byte),
            _ => message.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
        }
    }
    message.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_no_plain_word_is_quoted() {
        let fields = [
            ("owner", EventValue::Text((*b"a b\"\n").into())),
            ("kind", EventValue::Text((*b"native").into())),
            ("grant", EventValue::Number(-7)),
            ("empty", EventValue::Text([].into())),
        ];
        let Effect::Announce { channel, message } = effect(3, b"k", "lost", &fields) else {
            panic!("it is announced");
        };
        assert_eq!(&*channel, b"__lock@3__:k");
        assert_eq!(&*message, br#"lost owner="a b\"\x0a" kind=native grant=-7 empty="""#);
    }
}
