//! A server's whole state as text, to compare two servers after the same commands.

use crate::client::Client;
use crate::pair::word;
use crate::reply::Reply;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What one key holds.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyState {
    /// The answer of TYPE.
    pub kind: String,
    /// The answer of OBJECT ENCODING.
    pub encoding: String,
    /// The content, in an order of its own where the type has none.
    pub content: Reply,
    /// The deadline in milliseconds since 1970, or -1.
    pub deadline_ms: i64,
}

/// The keys of the connection's selected database, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Each key's state.
    pub keys: BTreeMap<Vec<u8>, KeyState>,
}

/// How deadlines of relative times may differ between servers that are asked one after the other.
pub const DEADLINE_APART_MS_MAX: u64 = 300_000;

impl Snapshot {
    /// Reads the state through the given connection, key by key; linear in the data.
    #[track_caller]
    pub fn read(client: &mut Client) -> Snapshot {
        let names = client.cmd(&["KEYS", "*"]).into_elements().unwrap_or_default();
        let mut keys = BTreeMap::new();
        for name in names.iter().filter_map(Reply::as_bytes) {
            let state = read_key(client, name);
            // Gone between the two commands: it expired, and is not part of the state.
            if state.kind != "none" {
                keys.insert(name.to_vec(), state);
            }
        }
        Snapshot { keys }
    }

    /// Where two states differ, a line a key; empty when they agree. Deadlines may lie
    /// [`DEADLINE_APART_MS_MAX`] apart.
    pub fn differences(&self, ours: &Snapshot) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, real_state) in &self.keys {
            match ours.keys.get(name) {
                None => lines.push(format!("{}: real has {real_state:?}, ours has no such key", word(name))),
                Some(our_state) => compare_keys(name, real_state, our_state, &mut lines),
            }
        }
        for (name, state) in ours.keys.iter().filter(|(name, _)| !self.keys.contains_key(*name)) {
            lines.push(format!("{}: real has no such key, ours has {state:?}", word(name)));
        }
        lines
    }
}

fn compare_keys(name: &[u8], real: &KeyState, ours: &KeyState, lines: &mut Vec<String>) {
    let mut text = String::new();
    let mut note = |what: &str, real: &dyn std::fmt::Display, ours: &dyn std::fmt::Display| {
        // Writing to a String cannot fail.
        let _ = write!(text, "; {what}: real {real}, ours {ours}");
    };
    if real.kind != ours.kind {
        note("type", &real.kind, &ours.kind);
    }
    if real.encoding != ours.encoding {
        note("encoding", &real.encoding, &ours.encoding);
    }
    if real.content.to_string() != ours.content.to_string() {
        note("content", &real.content, &ours.content);
    }
    let has_deadline = |state: &KeyState| state.deadline_ms >= 0;
    let apart = real.deadline_ms.abs_diff(ours.deadline_ms);
    if has_deadline(real) != has_deadline(ours) || apart > DEADLINE_APART_MS_MAX {
        note("deadline", &real.deadline_ms, &ours.deadline_ms);
    }
    if !text.is_empty() {
        lines.push(format!("{}{text}", word(name)));
    }
}

fn read_key(client: &mut Client, name: &[u8]) -> KeyState {
    let kind = text(&client.cmd(&[b"TYPE", name]));
    let encoding = text(&client.cmd(&[b"OBJECT".as_slice(), b"ENCODING", name]));
    let content = match kind.as_str() {
        "string" => client.cmd(&[b"GET", name]),
        "hash" => client.cmd(&[b"HGETALL", name]).sorted_pairs(),
        "set" => client.cmd(&[b"SMEMBERS", name]).sorted(),
        "list" => client.cmd(&[b"LRANGE".as_slice(), name, b"0", b"-1"]),
        "zset" => client.cmd(&[b"ZRANGE".as_slice(), name, b"0", b"-1", b"WITHSCORES"]),
        "stream" => client.cmd(&[b"XRANGE".as_slice(), name, b"-", b"+"]),
        _ => Reply::Null,
    };
    let deadline_ms = client.cmd(&[b"PEXPIRETIME", name]).as_int().unwrap_or(-1);
    KeyState { kind, encoding, content, deadline_ms }
}

fn text(reply: &Reply) -> String {
    reply.as_bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis_server::{Kind, RealServer};

    const SETUP: &[&str] = &[
        "SET string v EX 100000",
        "HSET hash b 1 a 2",
        "SADD set x y z",
        "SADD numbers 3 1 2",
        "RPUSH list a b a",
        "ZADD zset 1.5 a 1 b",
        "XADD stream 1-1 f v",
    ];

    fn snapshot(server: &RealServer, changes: &[&str]) -> Snapshot {
        let mut client = Client::connect(server.addr());
        client.line("FLUSHALL");
        for line in SETUP.iter().chain(changes) {
            assert!(!client.line(line).is_error(), "{line}");
        }
        Snapshot::read(&mut client)
    }

    #[test]
    fn every_kind_of_difference_is_seen() {
        let Some(server) = RealServer::start(Kind::Redis, &[]) else { return };
        let real = snapshot(&server, &[]);
        assert_eq!(real.keys.len(), SETUP.len());
        assert_eq!(real.differences(&snapshot(&server, &["EXPIRE string 99990"])), Vec::<String>::new());
        let cases = [
            (["PERSIST string"].as_slice(), "string; deadline"),
            (&["PEXPIRE string 100000"], "string; deadline"),
            (&["HSET hash a 3"], "hash; content"),
            (&["SADD set w"], "set; content"),
            (&["SADD numbers x", "SREM numbers x"], "numbers; encoding"),
            (&["LPOP list"], "list; content"),
            (&["ZADD zset 2 a"], "zset; content"),
            (&["XADD stream 1-2 f v"], "stream; content"),
            (&["DEL list", "SET list v"], "list; type"),
            (&["DEL set"], "set: real has"),
            (&["SET new v"], "new: real has no such key"),
        ];
        for (changes, expected) in cases {
            let lines = real.differences(&snapshot(&server, changes));
            assert!(lines.len() == 1 && lines[0].starts_with(expected), "{changes:?}: {lines:?}");
        }
    }
}
