//! What `LOCK.INFO` tells, who holds a lock and who waits for it; and `LOCK.HELP`.

use super::ledger;
use super::redisson::{self, MODE_FIELD};
use crate::keyspace::Tx;
use crate::spec::{DataHandler, Flags, Row};
use crate::values::Value;
use lockwheel_resp::{Reply, number};

/// The rows of this file.
pub(super) const ROWS: &[Row<DataHandler>] = &[Row::help_command("lock.help", 1)
    .flags(&[Flags::LOADING, Flags::STALE])
    .categories(&["lock"])
    .about("lock", "7.2.0", "O(1)")
    .summary("Explains the lock commands.")];

/// One who holds a lock.
struct Holder {
    owner: Box<[u8]>,
    holds: i64,
}

/// One who waits for a lock by Redisson's means: it listens to its channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChannelWaiter {
    /// The client.
    pub(crate) client: u64,
    /// In whose name, where the channel tells it.
    pub(crate) owner: Option<Box<[u8]>>,
}

/// Writes what keys tell of a lock, and who waits for it; the subscribers after those who wait natively.
pub(crate) fn write_info<'a>(
    tx: &mut Tx<'_>,
    key: &[u8],
    subscribers: impl ExactSizeIterator<Item = &'a ChannelWaiter>,
    reply: &mut dyn Reply,
) {
    let (mode, layout) = tx.peek(key).map_or(("free", "none"), redisson::kind);
    let holders = tx.peek(key).map_or_else(Vec::new, holders);
    let left = tx.deadline(key).map(|deadline| deadline - tx.now().wall_ms());
    reply.map(5);
    field(reply, "mode", mode.as_bytes());
    field(reply, "layout", layout.as_bytes());
    reply.bulk(b"ttl");
    reply.integer(left.unwrap_or(if holders.is_empty() { -2 } else { -1 }));
    reply.bulk(b"holders");
    reply.array(holders.len());
    for holder in &holders {
        let grant = ledger::grant(tx, key, &holder.owner);
        let is_native = grant.is_some_and(|grant| grant.native);
        reply.map(5);
        field(reply, "owner", &holder.owner);
        reply.bulk(b"holds");
        reply.integer(holder.holds);
        field(reply, "kind", kind(is_native));
        number_or_null(reply, "token", grant.filter(|grant| grant.native).map(|grant| grant.number));
        number_or_null(reply, "grant", grant.map(|grant| grant.number));
    }
    reply.bulk(b"waiters");
    let native: Vec<_> = tx.waiting(key).filter(|waiter| !waiter.label.is_empty()).collect();
    reply.array(native.len() + subscribers.len());
    native.iter().for_each(|waiter| write_waiter(reply, Some(&waiter.label), true, waiter.id));
    subscribers.for_each(|waiter| write_waiter(reply, waiter.owner.as_deref(), false, waiter.client));
}

fn write_waiter(reply: &mut dyn Reply, owner: Option<&[u8]>, is_native: bool, client: u64) {
    reply.map(3);
    match owner {
        Some(owner) => field(reply, "owner", owner),
        None => number_or_null(reply, "owner", None),
    }
    field(reply, "kind", kind(is_native));
    number_or_null(reply, "client", Some(client));
}

fn kind(is_native: bool) -> &'static [u8] {
    if is_native { b"native" } else { b"foreign" }
}

fn number_or_null(reply: &mut dyn Reply, name: &str, number: Option<u64>) {
    reply.bulk(name.as_bytes());
    match number {
        Some(number) => reply.integer(number as i64),
        None => reply.null(),
    }
}

fn field(reply: &mut dyn Reply, name: &str, value: &[u8]) {
    reply.bulk(name.as_bytes());
    reply.bulk(value);
}

/// The holders that a value names: the fields of Redisson's hash but for its mark, or a string's text.
fn holders(value: &Value) -> Vec<Holder> {
    match value {
        Value::Hash(hash) => hash
            .iter()
            .filter(|(owner, _)| *owner != MODE_FIELD)
            .map(|(owner, holds)| Holder {
                owner: owner.into(),
                holds: number::parse_i64(holds).unwrap_or(0),
            })
            .collect(),
        Value::Str(text) => vec![Holder { owner: (*text.text()).into(), holds: 1 }],
        _ => Vec::new(),
    }
}
