//! DEBUG DIGEST and DEBUG DIGEST-VALUE: the SHA-1 of values, combined as in Redis, so that equal data agree.

use crate::spec::Args;
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Value;
use lockwheel_store::values::stream::StreamId;
use sha1_smol::Sha1;

/// The bytes mixed in for a key with a deadline, whatever its deadline.
const HAS_DEADLINE: &[u8] = b"!!expire!!";

/// A digest that is being computed.
#[derive(Clone, Copy, Debug, Default)]
struct Digest([u8; 20]);

impl Digest {
    /// Adds bytes independently of their order among others.
    fn xor(&mut self, bytes: &[u8]) {
        let added = Sha1::from(bytes).digest().bytes();
        self.0.iter_mut().zip(added).for_each(|(byte, other)| *byte ^= other);
    }

    /// Adds bytes after others, so that their order matters.
    fn mix(&mut self, bytes: &[u8]) {
        self.xor(bytes);
        self.0 = Sha1::from(self.0).digest().bytes();
    }

    /// Adds an element that consists of ordered parts. The order of elements does not matter.
    fn xor_element(&mut self, parts: [&[u8]; 2]) {
        let mut element = Digest::default();
        parts.iter().for_each(|part| element.mix(part));
        self.xor(&element.0);
    }

    /// Adds a value: the number of its type, its content, and whether its key has a deadline.
    fn add_value(&mut self, value: &Value, has_deadline: bool) {
        let (kind, add): (u32, fn(&mut Digest, &Value)) = match value {
            Value::Str(_) => (0, add_string),
            Value::List(_) => (1, add_list),
            Value::Set(_) => (2, add_set),
            Value::ZSet(_) => (3, add_zset),
            Value::Hash(_) => (4, add_hash),
            Value::Stream(_) => (6, add_stream),
        };
        self.mix(&kind.to_be_bytes());
        add(self, value);
        if has_deadline {
            self.xor(HAS_DEADLINE);
        }
    }

    fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn add_string(digest: &mut Digest, value: &Value) {
    let Value::Str(text) = value else { return };
    digest.mix(&text.text());
}

fn add_list(digest: &mut Digest, value: &Value) {
    let Value::List(list) = value else { return };
    list.iter().for_each(|element| digest.mix(element));
}

fn add_set(digest: &mut Digest, value: &Value) {
    let Value::Set(set) = value else { return };
    set.iter().for_each(|member| digest.xor(&member));
}

fn add_zset(digest: &mut Digest, value: &Value) {
    let Value::ZSet(set) = value else { return };
    let mut score_text = Vec::new();
    for (member, score) in set {
        score_text.clear();
        number::format_g(score, 17, &mut score_text);
        digest.xor_element([member, &score_text]);
    }
}

fn add_hash(digest: &mut Digest, value: &Value) {
    let Value::Hash(hash) = value else { return };
    hash.iter().for_each(|(field, value)| digest.xor_element([field, value]));
}

fn add_stream(digest: &mut Digest, value: &Value) {
    let Value::Stream(stream) = value else { return };
    for entry in stream.log.range(StreamId::MIN, StreamId::MAX) {
        let id = entry.id();
        digest.mix(format!("{}.{}", id.ms, id.seq).as_bytes());
        for (field, value) in entry.pairs() {
            digest.mix(&field);
            digest.mix(&value);
        }
    }
}

/// Replies with the digest of all data.
pub(super) fn of_all(mut tx: Tx<'_>, reply: &mut dyn Reply) {
    let mut digest = Digest::default();
    for db in 0..tx.databases() {
        tx.select(db);
        if !tx.is_empty() {
            add_database(&mut digest, &tx);
        }
    }
    reply.status(digest.hex().as_bytes());
}

fn add_database(digest: &mut Digest, tx: &Tx<'_>) {
    // The number of databases is below the limit of the cast.
    digest.mix(&(tx.db() as u32).to_be_bytes());
    for (key, value) in tx.iter() {
        let mut of_key = Digest::default();
        of_key.mix(key);
        of_key.add_value(value, tx.deadline(key).is_some());
        digest.xor(&of_key.0);
    }
}

/// Replies with the digests of single values; a missing key has zeros.
pub(super) fn of_keys(tx: &Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) {
    reply.array(args.from(2).len());
    for key in args.from(2) {
        let mut digest = Digest::default();
        if let Some(value) = tx.peek(key) {
            digest.add_value(value, tx.deadline(key).is_some());
        }
        reply.status(digest.hex().as_bytes());
    }
}
