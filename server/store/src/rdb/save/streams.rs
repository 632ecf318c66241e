//! Writing of streams.

use super::Forms;
use crate::rdb::listpack::ListpackBuilder;
use crate::rdb::{Writer, payload, stream_flags, types};
use crate::values::Stream;
use crate::values::stream::{Consumer, Entry, Group, NodeView, StreamId};

/// The code of an unknown number.
const UNKNOWN: u64 = u64::MAX;
/// The code of an event that never happened.
const NEVER: i64 = -1;

/// Writes a stream; returns its form's version: that of Redis 7.0 if requested, unless that lost consumers' times.
pub(super) fn write(stream: &Stream, forms: Forms, writer: &mut Writer) -> u16 {
    let has_one_time = |consumer: &Consumer| consumer.active_ms == Some(consumer.seen_ms);
    let mut consumers = stream.groups.iter().flat_map(|(_, group)| group.consumers());
    let is_old = match forms {
        Forms::Newest => false,
        Forms::Oldest => consumers.all(|(_, consumer)| has_one_time(consumer)),
        Forms::Redis70 => true,
    };
    writer.form(if is_old { types::STREAM_2 } else { types::STREAM_3 });
    let log = &stream.log;
    writer.length(log.node_count());
    for node in log.node_views() {
        writer.string(&id_bytes(node.first_id()));
        writer.string(&node_listpack(&node));
    }
    writer.length(log.len());
    for id in [log.last_id(), log.first_id(), log.max_deleted_id()] {
        write_id(id, writer);
    }
    writer.number(log.entries_added());
    writer.length(stream.groups.len());
    for (name, group) in stream.groups.iter() {
        writer.string(name);
        write_group(group, is_old, writer);
    }
    if is_old { payload::VERSION_7_0 } else { payload::VERSION_7_2 }
}

/// An id as the key of a node or of a pending entry.
fn id_bytes(id: StreamId) -> [u8; 16] {
    let id = (u128::from(id.ms) << 64) | u128::from(id.seq);
    id.to_be_bytes()
}

fn write_id(id: StreamId, writer: &mut Writer) {
    writer.number(id.ms);
    writer.number(id.seq);
}

/// The listpack of a node: the numbers of live and deleted entries, the fields that the entries share, and the entries.
fn node_listpack(node: &NodeView<'_>) -> Vec<u8> {
    let mut out = ListpackBuilder::new();
    let (live, deleted) = node.counts();
    let fields = node.shared_fields();
    let shared = fields.len();
    [live, deleted, shared].iter().for_each(|count| out.integer(*count as i64));
    fields.for_each(|(field, _)| out.text(&field));
    // The end of the node's head.
    out.integer(0);
    node.entries().for_each(|entry| write_entry(&entry, node.first_id(), &mut out));
    out.finish()
}

/// Writes an entry: flags, the id relative to the first one, the values or pairs, and the number of these elements.
fn write_entry(entry: &Entry<'_>, first: StreamId, out: &mut ListpackBuilder) {
    let (id, pairs) = (entry.id(), entry.pairs());
    let mut flags = 0;
    if entry.is_deleted() {
        flags |= stream_flags::DELETED;
    }
    if entry.shares_fields() {
        flags |= stream_flags::SHARED_FIELDS;
    }
    out.integer(flags);
    // The differences wrap around.
    out.integer(id.ms.wrapping_sub(first.ms) as i64);
    out.integer(id.seq.wrapping_sub(first.seq) as i64);
    let count = pairs.len() as i64;
    if entry.shares_fields() {
        pairs.for_each(|(_, value)| out.text(&value));
        out.integer(count + 3);
    } else {
        out.integer(count);
        pairs.for_each(|(field, value)| {
            out.text(&field);
            out.text(&value);
        });
        out.integer(2 * count + 4);
    }
}

fn write_group(group: &Group, is_old: bool, writer: &mut Writer) {
    write_id(group.last_id, writer);
    writer.number(group.entries_read.unwrap_or(UNKNOWN));
    writer.length(group.pending().len());
    for (id, pending) in group.pending() {
        writer.bytes(&id_bytes(*id));
        writer.bytes(&pending.delivered_ms.to_le_bytes());
        writer.number(pending.deliveries);
    }
    writer.length(group.consumers().len());
    for (_, consumer) in group.consumers() {
        writer.string(consumer.name());
        writer.bytes(&consumer.seen_ms.to_le_bytes());
        if !is_old {
            writer.bytes(&consumer.active_ms.unwrap_or(NEVER).to_le_bytes());
        }
        let pending = consumer.pending();
        writer.length(pending.len());
        pending.for_each(|id| writer.bytes(&id_bytes(id)));
    }
}
