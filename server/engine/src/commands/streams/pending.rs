//! XACK and XPENDING.

use super::ids::{parse_id, parse_start, parse_stop};
use super::replies::write_id;
use crate::spec::{
    Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors, quotable,
};
use lockwheel_resp::{Reply, allocation, number};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::{Group, Pending, StreamId};
use smallvec::SmallVec;

const UPDATES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])];
const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("xack", -4, xack as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["stream"])
        .keys(UPDATES)
        .about("stream", "5.0.0", "O(1) for each message ID processed.")
        .summary("Acknowledges entries that were delivered to a group, and counts those that were pending.")
        .syntax("key group id [id ...]")
        .errors(&["ERR Invalid stream ID specified as stream command argument"]),
    Row::new("xpending", -3, xpending as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["stream"])
        .keys(READS)
        .about(
            "stream",
            "5.0.0",
            "O(N) with N being the number of elements returned, so asking for a small fixed number of entries per \
             call is O(1). O(M), where M is the total number of entries scanned when used with the IDLE filter. When \
             the command returns just the summary and the list of consumers is small, it runs in O(1) time; \
             otherwise, an additional O(N) time for iterating every consumer.",
        )
        .summary("Returns the entries that were delivered to a group and are not acknowledged.")
        .history(&[("6.2.0", "Added the `IDLE` option and exclusive range intervals.")])
        .syntax(
            "key group [filters: [IDLE min-idle-time:integer@6.2.0] start:string end:string count \
             [consumer]]",
        )
        .tips(&["nondeterministic_output"])
        .errors(&[
            "NOGROUP No such key 'key' or consumer group 'group'",
            "ERR Invalid stream ID specified as stream command argument",
            "ERR invalid start ID for the interval",
            "ERR invalid end ID for the interval",
            "ERR value is not an integer or out of range",
            "ERR syntax error",
        ]),
];

/// The error of a stream or group that a command does not find.
pub(super) fn no_group(key: &[u8], group: &[u8]) -> CommandError {
    let parts: [&[u8]; 5] =
        [b"NOGROUP No such key '", quotable(key), b"' or consumer group '", quotable(group), b"'"];
    CommandError::new(parts.concat())
}

fn xack(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let is_there = tx.read::<Stream>(&args[1])?.is_some_and(|stream| stream.groups.get(&args[2]).is_some());
    let mut acknowledged = 0;
    if is_there && let Some(edit) = tx.write::<Stream>(&args[1])? {
        let ids: Result<SmallVec<[StreamId; 8]>, _> = args.from(3).iter().map(|id| parse_id(id, 0)).collect();
        let ids = ids?;
        if let Some(mut group) = edit.value.groups.edit(&args[2]) {
            acknowledged = ids.into_iter().filter(|&id| group.acknowledge(id)).count();
        }
    }
    tx.count_quiet_changes(&args[1], acknowledged);
    reply.integer(acknowledged as i64);
    Ok(())
}

#[derive(Debug)]
struct Listing {
    /// The least idle time of an entry, in milliseconds. 0: any.
    min_idle_ms: i64,
    start: StreamId,
    end: StreamId,
    count: usize,
    /// The index of the argument that names the only consumer.
    consumer: Option<usize>,
}

impl Listing {
    fn parse(args: Args<'_>) -> Result<Option<Self>, CommandError> {
        match args.len() {
            3 => return Ok(None),
            6..=9 => {}
            _ => return Err(errors::SYNTAX),
        }
        let (mut min_idle_ms, mut at) = (0, 3);
        if args.is(3, "idle") {
            min_idle_ms = args.int(4)?;
            if args.len() < 8 {
                return Err(errors::SYNTAX);
            }
            at = 5;
        }
        let count = usize::try_from(args.int(at + 2)?).unwrap_or(0);
        let (start, end) = (parse_start(&args[at])?, parse_stop(&args[at + 1])?);
        let consumer = (at + 3 < args.len()).then_some(at + 3);
        Ok(Some(Listing { min_idle_ms, start, end, count, consumer }))
    }

    fn entries(&self, group: &Group, args: Args<'_>, now_ms: i64) -> Vec<(StreamId, Pending)> {
        if self.start > self.end {
            return Vec::new();
        }
        let is_wanted = |(_, pending): &(StreamId, Pending)| {
            self.min_idle_ms == 0 || now_ms.saturating_sub(pending.delivered_ms) >= self.min_idle_ms
        };
        let Some(consumer) = self.consumer else {
            let entries = group.pending().range(self.start..=self.end);
            let entries = entries.map(|(id, pending)| (*id, *pending)).filter(is_wanted);
            return allocation::collect(entries.take(self.count));
        };
        let consumer = group.find(&args[consumer]).and_then(|id| group.consumer(id));
        let entries = consumer.into_iter().flat_map(|consumer| consumer.pending_from(self.start));
        let entries = entries.take_while(|id| *id <= self.end);
        let pending = entries.filter_map(|id| Some((id, *group.pending().get(&id)?)));
        allocation::collect(pending.filter(is_wanted).take(self.count))
    }
}

fn xpending(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let listing = Listing::parse(args)?;
    let now_ms = tx.now().wall_ms();
    let stream = tx.read::<Stream>(&args[1])?;
    let group = stream.and_then(|stream| stream.groups.get(&args[2]));
    let group = group.ok_or_else(|| no_group(&args[1], &args[2]))?;
    let Some(listing) = listing else {
        write_summary(group, reply);
        return Ok(());
    };
    let entries = listing.entries(group, args, now_ms);
    reply.array(entries.len());
    for (id, pending) in entries {
        reply.array(4);
        write_id(id, reply);
        reply.bulk(group.consumer(pending.consumer).map_or(b"", |consumer| consumer.name()));
        reply.integer(now_ms.saturating_sub(pending.delivered_ms).max(0));
        reply.integer(pending.deliveries as i64);
    }
    Ok(())
}

/// Writes the number of pending entries, the first and the last of them, and the number of each consumer.
fn write_summary(group: &Group, reply: &mut dyn Reply) {
    let pending = group.pending();
    reply.array(4);
    reply.integer(pending.len() as i64);
    let (Some((first, _)), Some((last, _))) = (pending.first_key_value(), pending.last_key_value()) else {
        reply.null();
        reply.null();
        reply.null_array();
        return;
    };
    write_id(*first, reply);
    write_id(*last, reply);
    let busy = || group.consumers().filter(|(_, consumer)| consumer.pending().len() > 0);
    reply.array(busy().count());
    for (_, consumer) in busy() {
        reply.array(2);
        reply.bulk(consumer.name());
        let mut count = Vec::with_capacity(20);
        number::write_usize(consumer.pending().len(), &mut count);
        reply.bulk(&count);
    }
}
