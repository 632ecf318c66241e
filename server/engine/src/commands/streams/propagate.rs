//! The propagation of deliveries: XREADGROUP, XCLAIM and XAUTOCLAIM become an XCLAIM of each result.

use crate::spec::Args;
use lockwheel_resp::{allocation, number};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::stream::{Group, StreamId};

#[derive(Debug)]
pub(super) struct Delivery {
    id: StreamId,
    consumer: Box<[u8]>,
    delivered_ms: i64,
    deliveries: u64,
    /// The last entry that the group had been delivered by then.
    last_id: StreamId,
}

impl Delivery {
    /// Returns the state of a pending entry. `last_id`: the last entry that the group has been delivered.
    pub(super) fn of(group: &Group, id: StreamId, last_id: StreamId) -> Option<Self> {
        let pending = group.pending().get(&id)?;
        let consumer = allocation::copy(group.consumer(pending.consumer)?.name());
        let (delivered_ms, deliveries) = (pending.delivered_ms, pending.deliveries);
        Some(Delivery { id, consumer, delivered_ms, deliveries, last_id })
    }
}

pub(super) fn propagate_deliveries(tx: &mut Tx<'_>, key: &[u8], group: &[u8], deliveries: &[Delivery]) {
    for delivery in deliveries {
        let (mut time, mut count) = (Vec::new(), Vec::new());
        number::write_i64(delivery.delivered_ms, &mut time);
        // Redis writes the number as a signed one.
        number::write_i64(delivery.deliveries as i64, &mut count);
        let (id, last_id) = (delivery.id.text(), delivery.last_id.text());
        tx.propagate(&[
            b"XCLAIM",
            key,
            group,
            &delivery.consumer,
            b"0",
            &id,
            b"TIME",
            &time,
            b"RETRYCOUNT",
            &count,
            b"FORCE",
            b"JUSTID",
            b"LASTID",
            &last_id,
        ]);
    }
}

pub(super) fn propagate_consumer(tx: &mut Tx<'_>, key: &[u8], group: &[u8], consumer: &[u8]) {
    tx.propagate(&[b"XGROUP", b"CREATECONSUMER", key, group, consumer]);
}

/// Propagates the last entry that a group has been delivered, and the number of entries that it has read.
pub(super) fn propagate_position(
    tx: &mut Tx<'_>,
    key: &[u8],
    group: &[u8],
    (last_id, entries_read): (StreamId, Option<u64>),
) {
    let read = entries_read.map_or(-1, |read| read as i64);
    tx.propagate_with(&[b"XGROUP", b"SETID", key, group, &last_id.text(), b"ENTRIESREAD"], read);
}

/// The propagation of XCLAIM and XAUTOCLAIM.
#[derive(Debug, Default)]
pub(super) struct Propagated {
    /// The entries that were claimed, or were found to be gone.
    pub(super) deliveries: Vec<Delivery>,
    /// The position of the group, if only that has changed.
    pub(super) position: Option<(StreamId, Option<u64>)>,
    /// Whether the consumer is new, and no delivery tells of it.
    pub(super) is_new: bool,
}

impl Propagated {
    /// Propagates the changes of a request `XCLAIM key group consumer ...`.
    pub(super) fn propagate(self, tx: &mut Tx<'_>, args: Args<'_>) {
        let (key, group) = (&args[1], &args[2]);
        if self.is_new {
            propagate_consumer(tx, key, group, &args[3]);
        }
        propagate_deliveries(tx, key, group, &self.deliveries);
        self.position.into_iter().for_each(|position| propagate_position(tx, key, group, position));
    }
}
