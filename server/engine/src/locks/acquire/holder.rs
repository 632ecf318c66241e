//! `GETHOLDER`: tells a refused client who holds the lock.

use super::super::{records, redisson, wait_queue};
use crate::spec::Answer;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Value;

#[derive(Debug)]
struct Holder {
    /// The lock that was refused, if the request named several.
    key: Option<Box<[u8]>>,
    /// The owner. `None`: the lock is free, and other clients are to be served first.
    owner: Option<Box<[u8]>>,
    /// The rest of the lease, as PTTL shows it.
    ttl_ms: i64,
    /// The place in the queue that a request of this rank would have now; the first place is 1.
    position: usize,
    data: Option<Box<[u8]>>,
}

/// Returns the answer to a request of this rank that was refused a lock. O(n), n the waiters.
pub(super) fn answer(tx: &Tx<'_>, key: &[u8], rank: i64, of_several: bool) -> Answer {
    let field = tx.peek(key).and_then(first_holder);
    let owner = field.as_deref().map(|field| Box::from(redisson::owner_of(field)));
    let none = if tx.exists(key) { -1 } else { -2 };
    let holder = Holder {
        key: of_several.then(|| key.into()),
        owner,
        ttl_ms: tx.deadline(key).map_or(none, |deadline| deadline - tx.now().wall_ms()),
        position: wait_queue::ahead(tx, key, rank) + 1,
        data: field.and_then(|field| data(tx, key, &field)),
    };
    Box::new(move |reply| holder.write(reply))
}

fn first_holder(value: &Value) -> Option<Box<[u8]>> {
    match value {
        Value::Hash(hash) => redisson::owners(hash).next().map(Box::from),
        Value::Str(text) if *text.text() == *redisson::DELAY_FIELD => None,
        value => redisson::with_first_owner(value, |owner| Box::from(owner)),
    }
}

fn data(tx: &Tx<'_>, key: &[u8], field: &[u8]) -> Option<Box<[u8]>> {
    let grant = records::grant(tx, key, field)?;
    records::detail(tx, grant.number)?.data.clone()
}

impl Holder {
    fn write(&self, reply: &mut dyn Reply) {
        reply.map(3 + usize::from(self.key.is_some()) + usize::from(self.data.is_some()));
        if let Some(key) = &self.key {
            text(reply, "key", key);
        }
        match &self.owner {
            Some(owner) => text(reply, "holder", owner),
            None => {
                reply.bulk(b"holder");
                reply.null();
            }
        }
        for (name, number) in [("ttl", self.ttl_ms), ("position", self.position as i64)] {
            reply.bulk(name.as_bytes());
            reply.integer(number);
        }
        if let Some(data) = &self.data {
            text(reply, "data", data);
        }
    }
}

fn text(reply: &mut dyn Reply, name: &str, value: &[u8]) {
    reply.bulk(name.as_bytes());
    reply.bulk(value);
}
