//! A server's whole state as text, to compare two servers after the same commands.

mod stream_dump;

use crate::client::Client;
use crate::pair::word;
use crate::reply::Reply;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use stream_dump::StreamDump;

/// The state of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyState {
    /// The answer of TYPE.
    pub kind: String,
    /// The answer of OBJECT ENCODING.
    pub encoding: String,
    /// The content, in sorted order if the type has no order.
    pub content: Reply,
    /// The deadline in milliseconds since 1970, or [`NO_DEADLINE`].
    pub deadline_ms: i64,
    /// The answer of DUMP.
    pub dump: Vec<u8>,
    /// The deadlines of a hash's fields that have one, in the form of the key's deadline.
    pub fields_ms: BTreeMap<String, i64>,
}

impl KeyState {
    /// Whether equal values have equal bytes, in an order that the value defines. A table has no order, and some
    /// encodings lose the sign of a score of minus zero.
    fn has_one_dump(&self) -> bool {
        // The forms in which tables are written. Small sets have one too, as long as Redis 7.0 must be able to read
        // them.
        let is_table = matches!(self.dump.first(), Some(2 | 4 | 22 | 24));
        let has_negative_zero = self.kind == "zset" && self.content.to_string().contains("-0");
        !is_table && !has_negative_zero
    }

    /// Whether the bytes agree. Times of a stream may differ by this number of milliseconds.
    fn dumps_agree(&self, ours: &KeyState, apart_ms: u64) -> bool {
        match (StreamDump::read(&self.dump), StreamDump::read(&ours.dump)) {
            (Some(real), Some(ours)) => real.agrees(&ours, apart_ms),
            _ => body_of(&self.dump) == body_of(&ours.dump),
        }
    }

    /// Whether both servers have the form of the bytes. Valkey writes scores with fewer digits.
    fn same_form(&self, ours: &KeyState) -> bool {
        let is = |state: &KeyState, kind: &str| state.kind == kind;
        let is_of_valkey =
            self.dump.len().checked_sub(10).is_some_and(|at| self.dump[at..].starts_with(&[80, 0]));
        let has_same_type = self.dump.first() == ours.dump.first() && !(is_of_valkey && is(self, "zset"));
        has_same_type || (is(self, "stream") && is(ours, "stream"))
    }
}

/// Returns the answer of DUMP without the version and the checksum, which differ between versions.
pub(crate) fn body_of(dump: &[u8]) -> &[u8] {
    dump.split_last_chunk::<10>().map_or(&[], |(body, _)| body)
}

/// Whether two answers of DUMP have the same meaning. Versions differ in the form of streams' second times, and of
/// small sets, which Redis 7.0 stores as tables.
pub fn payloads_agree(real: &[u8], ours: &[u8]) -> bool {
    const SET: u8 = 2;
    const SET_LISTPACK: u8 = 20;
    match (StreamDump::read(real), StreamDump::read(ours)) {
        (Some(real), Some(ours)) => real.agrees(&ours, 0),
        _ => {
            let forms = (real.first(), ours.first());
            forms == (Some(&SET), Some(&SET_LISTPACK)) || body_of(real) == body_of(ours)
        }
    }
}

/// The deadline of a key without one. Any lower value is PEXPIRETIME's answer for a missing key.
const NO_DEADLINE: i64 = -1;

/// The keys of the connection's selected database, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The state of each key.
    pub keys: BTreeMap<Vec<u8>, KeyState>,
}

/// The milliseconds by which deadlines of relative times may differ between servers that are asked one after the other.
pub const MAX_DEADLINE_GAP_MS: u64 = 300_000;

impl Snapshot {
    /// Reads the state through the given connection. Takes time linear in the data.
    #[track_caller]
    pub fn read(client: &mut Client) -> Snapshot {
        let names = client.cmd(&["KEYS", "*"]).into_elements().unwrap_or_default();
        let names: Vec<Vec<u8>> = names.iter().filter_map(Reply::as_bytes).map(<[u8]>::to_vec).collect();
        let questions: Vec<_> = names.iter().flat_map(|name| about(name)).collect();
        let answers = client.pipeline(&questions);
        let kinds: Vec<String> = answers.chunks(ABOUT).map(|about| text(&about[0])).collect();
        let contents: Vec<_> = names.iter().zip(&kinds).map(|(name, kind)| content(name, kind)).collect();
        let contents = client.pipeline(&contents);
        let expired = expired(client, &names, &answers);
        let mut of_fields = field_deadlines(client, &names, &kinds, &contents);
        let mut keys = BTreeMap::new();
        for (((name, kind), content), about) in
            names.into_iter().zip(kinds).zip(contents).zip(answers.chunks(ABOUT))
        {
            let deadline_ms = about[2].as_int().unwrap_or(NO_DEADLINE);
            // A key that expired between two queries is not part of the state.
            let has_expired = kind == "none" || deadline_ms < NO_DEADLINE || expired.contains(&name);
            if !has_expired {
                let encoding = text(&about[1]);
                let content = in_order(&kind, content);
                let dump = about[3].as_bytes().map(<[u8]>::to_vec).unwrap_or_default();
                let fields_ms = of_fields.remove(&name).unwrap_or_default();
                keys.insert(name, KeyState { kind, encoding, content, deadline_ms, dump, fields_ms });
            }
        }
        Snapshot { keys }
    }

    /// Lists the differences of two states, a line for each key. Empty if they agree. Deadlines may lie
    /// [`MAX_DEADLINE_GAP_MS`] apart.
    pub fn differences(&self, ours: &Snapshot) -> Vec<String> {
        self.differences_within(ours, MAX_DEADLINE_GAP_MS)
    }

    /// Works as [`Snapshot::differences`], with deadlines at most this number of milliseconds apart.
    pub fn differences_within(&self, ours: &Snapshot, apart_ms: u64) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, real_state) in &self.keys {
            match ours.keys.get(name) {
                None => lines.push(format!("{}: real has {real_state:?}, ours has no such key", word(name))),
                Some(our_state) => compare_keys(name, real_state, our_state, apart_ms, &mut lines),
            }
        }
        for (name, state) in ours.keys.iter().filter(|(name, _)| !self.keys.contains_key(*name)) {
            lines.push(format!("{}: real has no such key, ours has {state:?}", word(name)));
        }
        lines
    }
}

/// Returns those of the keys with a deadline that are gone.
fn expired(client: &mut Client, names: &[Vec<u8>], answers: &[Reply]) -> BTreeSet<Vec<u8>> {
    let has_deadline = |about: &[Reply]| about[2].as_int().is_some_and(|ms| ms > NO_DEADLINE);
    let leased = names.iter().zip(answers.chunks(ABOUT)).filter(|(_, about)| has_deadline(about));
    let leased: Vec<&Vec<u8>> = leased.map(|(name, _)| name).collect();
    let questions: Vec<Vec<&[u8]>> = leased.iter().map(|name| vec![b"EXISTS".as_slice(), name]).collect();
    let is_there = client.pipeline(&questions);
    leased
        .into_iter()
        .zip(is_there)
        .filter(|(_, is_there)| *is_there == Reply::Int(0))
        .map(|(name, _)| name.clone())
        .collect()
}

fn compare_keys(name: &[u8], real: &KeyState, ours: &KeyState, apart_ms: u64, lines: &mut Vec<String>) {
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
    // Contents are compared by value: a small sorted set loses the sign of zero, and each version defines "small"
    // differently.
    if real.content != ours.content {
        note("content", &real.content, &ours.content);
    }
    let compares_bytes = real.same_form(ours) && real.has_one_dump() && ours.has_one_dump();
    if compares_bytes && !real.dumps_agree(ours, apart_ms) {
        note("dump", &word(&real.dump), &word(&ours.dump));
    }
    let has_deadline = |state: &KeyState| state.deadline_ms >= 0;
    let apart = real.deadline_ms.abs_diff(ours.deadline_ms);
    if has_deadline(real) != has_deadline(ours) || apart > apart_ms {
        note("deadline", &real.deadline_ms, &ours.deadline_ms);
    }
    let is_near = |(field, at): (&String, &i64)| {
        ours.fields_ms.get(field).is_some_and(|ours| ours.abs_diff(*at) <= apart_ms)
    };
    if real.fields_ms.len() != ours.fields_ms.len() || !real.fields_ms.iter().all(is_near) {
        note("deadlines of fields", &format!("{:?}", real.fields_ms), &format!("{:?}", ours.fields_ms));
    }
    if !text.is_empty() {
        lines.push(format!("{}{text}", word(name)));
    }
}

/// The number of queries that [`about`] returns.
const ABOUT: usize = 4;

/// Returns the queries for a key of any type: its type, encoding, deadline and bytes.
fn about(name: &[u8]) -> [Vec<Vec<u8>>; ABOUT] {
    let question = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect();
    [
        question(&[b"TYPE", name]),
        question(&[b"OBJECT", b"ENCODING", name]),
        question(&[b"PEXPIRETIME", name]),
        question(&[b"DUMP", name]),
    ]
}

/// The deadlines of the fields of all hashes, by key and field. Empty if the server does not support them.
fn field_deadlines(
    client: &mut Client,
    names: &[Vec<u8>],
    kinds: &[String],
    contents: &[Reply],
) -> BTreeMap<Vec<u8>, BTreeMap<String, i64>> {
    let of_field = |reply: &Reply| reply.as_bytes().map(<[u8]>::to_vec).unwrap_or_default();
    let mut found = BTreeMap::new();
    let hashes = names.iter().zip(kinds).zip(contents).filter(|((_, kind), _)| *kind == "hash");
    for ((name, _), content) in hashes {
        let fields: Vec<Vec<u8>> = match content {
            Reply::Map(pairs) => pairs.iter().map(|(field, _)| of_field(field)).collect(),
            Reply::Array(items) => items.iter().step_by(2).map(of_field).collect(),
            _ => continue,
        };
        let head = [b"HPEXPIRETIME".to_vec(), name.clone(), b"FIELDS".to_vec()];
        let number = fields.len().to_string().into_bytes();
        let question = head.into_iter().chain([number]).chain(fields.iter().cloned()).collect();
        let answers = client.pipeline(&[question]).remove(0).into_elements().unwrap_or_default();
        let deadlines = fields.iter().zip(&answers).filter_map(|(field, answer)| {
            let at_ms = answer.as_int().filter(|at_ms| *at_ms >= 0)?;
            Some((word(field).to_string(), at_ms))
        });
        found.insert(name.clone(), deadlines.collect());
    }
    found
}

/// The command that reads a whole key of this type.
fn content(name: &[u8], kind: &str) -> Vec<Vec<u8>> {
    let words: &[&[u8]] = match kind {
        "string" => &[b"GET", name],
        "hash" => &[b"HGETALL", name],
        "set" => &[b"SMEMBERS", name],
        "list" => &[b"LRANGE", name, b"0", b"-1"],
        "zset" => &[b"ZRANGE", name, b"0", b"-1", b"WITHSCORES"],
        "stream" => &[b"XRANGE", name, b"-", b"+"],
        _ => &[b"TYPE", name],
    };
    words.iter().map(|word| word.to_vec()).collect()
}

/// Returns the content, sorted if the type has no order.
fn in_order(kind: &str, content: Reply) -> Reply {
    match kind {
        "hash" => content.sorted_pairs(),
        "set" => content.sorted(),
        _ => content,
    }
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
    fn every_kind_of_difference_is_reported() {
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
