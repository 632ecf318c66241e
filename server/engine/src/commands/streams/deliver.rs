//! The delivery of entries to the consumers of a group.

use super::replies::{write_entry, write_id};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::values::stream::{ConsumerId, Group, Log, Pending, StreamId};

/// Delivers and replies a limited number of entries that were not yet delivered to the group. They are pending from now
/// on, unless they are acknowledged at once (`no_ack`).
pub(super) fn deliver(
    log: &Log,
    group: &mut Group,
    consumer: ConsumerId,
    (most, no_ack): (usize, bool),
    now_ms: i64,
    reply: &mut dyn Reply,
) {
    let start = group.last_id.next().unwrap_or(StreamId::MAX);
    let entries = log.range(start, StreamId::MAX).take(most);
    reply.array(entries.clone().count());
    for entry in entries {
        // The reply comes before the delivery, because there may be no memory for the reply.
        write_entry(&entry, reply);
        pass(log, group, entry.id());
        if !no_ack {
            group.assign(entry.id(), Pending { consumer, delivered_ms: now_ms, deliveries: 1 });
            group.active(consumer, now_ms);
        }
    }
}

/// Records that an entry above all earlier ones was delivered to the group.
fn pass(log: &Log, group: &mut Group, id: StreamId) {
    group.entries_read = match group.entries_read {
        Some(read) if !log.has_gap_from(id) => Some(read.wrapping_add(1)),
        before if log.entries_added() == 0 => before,
        _ => log.count_up_to(id),
    };
    group.last_id = id;
}

/// Replies, and thereby delivers once more, a limited number of entries from an id on that a consumer has not
/// acknowledged. A deleted entry is replied as null.
pub(super) fn repeat(
    log: &Log,
    group: &mut Group,
    consumer: ConsumerId,
    (start, most): (StreamId, usize),
    now_ms: i64,
    reply: &mut dyn Reply,
) {
    let pending = group.consumer(consumer).map(|consumer| consumer.pending_from(start).take(most));
    let pending = pending.map_or_else(Vec::new, allocation::collect);
    reply.array(pending.len());
    for id in pending {
        match log.get(id) {
            Some(entry) => {
                write_entry(&entry, reply);
                group.deliver_again(id, now_ms);
            }
            None => {
                reply.array(2);
                write_id(id, reply);
                reply.null_array();
            }
        }
    }
}
