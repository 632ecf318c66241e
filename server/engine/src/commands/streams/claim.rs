//! XCLAIM.

use super::ids::parse_id;
use super::pending::no_group;
use super::propagate::{Delivery, Propagated};
use super::replies::{write_entry, write_id};
use crate::spec::{
    Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors, quotable,
};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::{ConsumerId, Group, Log, Pending, StreamId};
use smallvec::SmallVec;

const UPDATES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::new("xclaim", -6, xclaim as DataHandler)
    .flags(&[Flags::WRITE, Flags::FAST])
    .categories(&["stream"])
    .keys(UPDATES)
    .about(
        "stream",
        "5.0.0",
        "O(log N) with N being the number of messages in the PEL of the consumer group.",
    )
    .summary("Assigns pending entries of a group to a consumer.")
    .syntax(
        "key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] \
             [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid=id]",
    )
    .tips(&["nondeterministic_output"])
    .errors(&[
        "NOGROUP No such key 'key' or consumer group 'group'",
        "ERR Invalid min-idle-time argument for XCLAIM",
        "ERR Invalid IDLE option argument for XCLAIM",
        "ERR Invalid TIME option argument for XCLAIM",
        "ERR Invalid RETRYCOUNT option argument for XCLAIM",
        "ERR Invalid stream ID specified as stream command argument",
        "ERR Unrecognized XCLAIM option 'option'",
    ])];

/// A request of XCLAIM, at an instant in wall milliseconds.
#[derive(Debug)]
struct Claim {
    now_ms: i64,
    min_idle_ms: i64,
    ids: SmallVec<[StreamId; 8]>,
    /// The time at which the entries count as delivered.
    delivered_ms: i64,
    /// The number of deliveries to record. `None`: one more than before, or the same number with JUSTID.
    deliveries: Option<u64>,
    force: bool,
    just_id: bool,
    last_id: StreamId,
}

impl Claim {
    /// Reads the arguments behind the consumer: first ids, then options.
    fn parse(args: Args<'_>, now_ms: i64) -> Result<Self, CommandError> {
        let int = |at: usize, error: CommandError| args.get(at).and_then(number::parse_i64).ok_or(error);
        let min_idle_ms = int(4, errors::CLAIM_MIN_IDLE)?.max(0);
        let ids: SmallVec<[StreamId; 8]> = args.from(5).iter().map_while(|id| parse_id(id, 0).ok()).collect();
        let mut at = 5 + ids.len();
        let (mut force, mut just_id, mut last_id) = (false, false, StreamId::MIN);
        let (mut delivered_ms, mut deliveries) = (now_ms, None);
        while at < args.len() {
            let has_more = at + 1 < args.len();
            if args.is(at, "force") {
                force = true;
            } else if args.is(at, "justid") {
                just_id = true;
            } else if has_more && args.is(at, "idle") {
                at += 1;
                delivered_ms = now_ms.wrapping_sub(int(at, errors::CLAIM_IDLE)?);
            } else if has_more && args.is(at, "time") {
                at += 1;
                delivered_ms = int(at, errors::CLAIM_TIME)?;
            } else if has_more && args.is(at, "retrycount") {
                at += 1;
                deliveries = u64::try_from(int(at, errors::CLAIM_RETRYCOUNT)?).ok();
            } else if has_more && args.is(at, "lastid") {
                at += 1;
                last_id = parse_id(&args[at], 0)?;
            } else {
                let parts: [&[u8]; 3] = [b"ERR Unrecognized XCLAIM option '", quotable(&args[at]), b"'"];
                return Err(CommandError::new(parts.concat()));
            }
            at += 1;
        }
        if !(0..=now_ms).contains(&delivered_ms) {
            delivered_ms = now_ms;
        }
        Ok(Claim { now_ms, min_idle_ms, ids, delivered_ms, deliveries, force, just_id, last_id })
    }

    /// Claims an entry for a consumer, if that is possible. A deleted entry is removed from the pending entries.
    fn claim(&self, log: &Log, group: &mut Group, consumer: ConsumerId, id: StreamId) -> Claimed {
        let pending = group.pending().get(&id).copied();
        if log.get(id).is_none() {
            return if group.acknowledge(id) { Claimed::Gone } else { Claimed::No };
        }
        let deliveries = match pending {
            None if !self.force => return Claimed::No,
            None => 1,
            Some(pending) if self.is_too_young(&pending) => return Claimed::No,
            Some(pending) => pending.deliveries,
        };
        let next = if self.just_id { deliveries } else { deliveries.wrapping_add(1) };
        let deliveries = self.deliveries.unwrap_or(next);
        group.assign(id, Pending { consumer, delivered_ms: self.delivered_ms, deliveries });
        Claimed::Yes
    }

    fn is_too_young(&self, pending: &Pending) -> bool {
        self.min_idle_ms > 0 && self.now_ms.saturating_sub(pending.delivered_ms) < self.min_idle_ms
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claimed {
    /// The entry belongs to the consumer now.
    Yes,
    /// The entry was not claimed, or is not pending.
    No,
    /// The entry was pending, but had been deleted from the stream.
    Gone,
}

fn xclaim(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let now_ms = tx.now().wall_ms();
    let is_there = tx.read::<Stream>(&args[1])?.is_some_and(|stream| stream.groups.get(&args[2]).is_some());
    let claim =
        if is_there { Claim::parse(args, now_ms)? } else { return Err(no_group(&args[1], &args[2])) };
    let (mut changes, mut is_new) = (0, false);
    let (is_propagated, mut propagated) = (tx.is_propagated(), Propagated::default());
    if let Some(edit) = tx.write::<Stream>(&args[1])?
        && let (log, Some(mut group)) = edit.value.split(&args[2])
    {
        let last_id = group.last_id;
        group.last_id = group.last_id.max(claim.last_id);
        let consumer;
        (consumer, is_new) = group.find_or_add(&args[3], now_ms);
        group.seen(consumer, now_ms);
        let mut claimed: SmallVec<[StreamId; 8]> = SmallVec::new();
        for &id in &claim.ids {
            let before = if is_propagated { Delivery::of(&group, id, group.last_id) } else { None };
            let outcome = claim.claim(log, &mut group, consumer, id);
            match outcome {
                Claimed::Yes if is_propagated => {
                    propagated.deliveries.extend(Delivery::of(&group, id, group.last_id));
                }
                Claimed::Gone => propagated.deliveries.extend(before),
                _ => {}
            }
            changes += usize::from(outcome != Claimed::No);
            if outcome == Claimed::Yes {
                claimed.push(id);
            }
        }
        if !claimed.is_empty() {
            group.active(consumer, now_ms);
        }
        if propagated.deliveries.is_empty() && group.last_id > last_id {
            propagated.position = Some((group.last_id, group.entries_read));
        }
        propagated.is_new = is_new && claimed.is_empty();
        write_claimed(log, &claimed, claim.just_id, reply);
    }
    if is_new {
        tx.changed_quietly(&args[1], events::XGROUP_CREATECONSUMER);
    }
    tx.count_quiet_changes(&args[1], changes);
    propagated.propagate(tx, args);
    Ok(())
}

/// Writes claimed entries, all of which exist, or only their ids.
pub(super) fn write_claimed(log: &Log, claimed: &[StreamId], just_id: bool, reply: &mut dyn Reply) {
    reply.array(claimed.len());
    for &id in claimed {
        match log.get(id).filter(|_| !just_id) {
            Some(entry) => write_entry(&entry, reply),
            None => write_id(id, reply),
        }
    }
}
