//! XAUTOCLAIM.

use super::claim::write_claimed;
use super::ids::parse_start;
use super::pending::no_group;
use super::propagate::{Delivery, Propagated};
use super::replies::write_id;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::{Group, Log, Pending, StreamId};

const DELETES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])];

/// The default number of entries to claim.
const COUNT: usize = 100;
/// The number of entries that are looked at for each entry to claim.
const ATTEMPTS: usize = 10;
/// The greatest COUNT. Redis bounds it because the ids of all entries must fit into memory.
const MAX_COUNT: i64 = i64::MAX / 16;

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::new(
    "xautoclaim",
    -6,
    xautoclaim as DataHandler,
)
.flags(&[Flags::WRITE, Flags::FAST])
.categories(&["stream"])
.keys(DELETES)
.about("stream", "6.2.0", "O(1) if COUNT is small.")
.summary("Assigns entries of a group that have been pending for long to a consumer.")
.history(&[(
    "7.0.0",
    "Added an element to the reply array, containing deleted entries the command cleared from the PEL",
)])
.syntax("key group consumer min-idle-time start:string [COUNT count] [JUSTID]")
.tips(&["nondeterministic_output"])
.errors(&[
    "NOGROUP No such key 'key' or consumer group 'group'",
    "ERR Invalid min-idle-time argument for XAUTOCLAIM",
    "ERR Invalid stream ID specified as stream command argument",
    "ERR invalid start ID for the interval",
    "ERR COUNT must be > 0",
    "ERR syntax error",
])];

#[derive(Debug)]
struct AutoClaim {
    min_idle_ms: i64,
    start: StreamId,
    count: usize,
    just_id: bool,
}

/// The result of a search among the pending entries.
#[derive(Debug, Default)]
struct Found {
    claimed: Vec<StreamId>,
    /// Pending entries that have been deleted from the stream.
    gone: Vec<StreamId>,
    /// The id from which the next call goes on. 0-0 at the end.
    next: StreamId,
}

impl AutoClaim {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let min_idle_ms = number::parse_i64(&args[4]).ok_or(errors::AUTOCLAIM_MIN_IDLE)?.max(0);
        let mut claim =
            AutoClaim { min_idle_ms, start: parse_start(&args[5])?, count: COUNT, just_id: false };
        let mut at = 6;
        while at < args.len() {
            if at + 1 < args.len() && args.is(at, "count") {
                let count = args.get(at + 1).and_then(number::parse_i64);
                let count = count.filter(|count| (1..=MAX_COUNT).contains(count));
                let count = count.and_then(|count| usize::try_from(count).ok());
                claim.count = count.ok_or(errors::AUTOCLAIM_COUNT)?;
                at += 2;
            } else if args.is(at, "justid") {
                claim.just_id = true;
                at += 1;
            } else {
                return Err(errors::SYNTAX);
            }
        }
        Ok(claim)
    }

    fn find(&self, log: &Log, group: &Group, now_ms: i64) -> Found {
        let mut found = Found::default();
        let attempts = self.count.saturating_mul(ATTEMPTS);
        for (looked_at, (&id, pending)) in group.pending().range(self.start..).enumerate() {
            if looked_at == attempts || found.claimed.len() + found.gone.len() == self.count {
                found.next = id;
                break;
            }
            if log.get(id).is_none() {
                found.gone.push(id);
            } else if self.min_idle_ms == 0 || now_ms.saturating_sub(pending.delivered_ms) >= self.min_idle_ms
            {
                found.claimed.push(id);
            }
        }
        found
    }
}

fn xautoclaim(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let claim = AutoClaim::parse(args)?;
    let now_ms = tx.now().wall_ms();
    let is_there = tx.read::<Stream>(&args[1])?.is_some_and(|stream| stream.groups.get(&args[2]).is_some());
    if !is_there {
        return Err(no_group(&args[1], &args[2]));
    }
    let (mut changes, mut is_new) = (0, false);
    let (is_propagated, mut propagated) = (tx.is_propagated(), Propagated::default());
    if let Some(edit) = tx.write::<Stream>(&args[1])?
        && let (log, Some(mut group)) = edit.value.split(&args[2])
    {
        let consumer;
        (consumer, is_new) = group.find_or_add(&args[3], now_ms);
        group.seen(consumer, now_ms);
        let found = claim.find(log, &group, now_ms);
        let mut delivered: Vec<Delivery> = Vec::new();
        for &id in &found.gone {
            if is_propagated {
                delivered.extend(Delivery::of(&group, id, group.last_id));
            }
            group.acknowledge(id);
        }
        for &id in &found.claimed {
            let before = group.pending().get(&id).map_or(0, |pending| pending.deliveries);
            let deliveries = if claim.just_id { before } else { before.wrapping_add(1) };
            group.assign(id, Pending { consumer, delivered_ms: now_ms, deliveries });
            if is_propagated {
                delivered.extend(Delivery::of(&group, id, group.last_id));
            }
        }
        propagated.deliveries = delivered;
        propagated.is_new = is_new && found.claimed.is_empty();
        if !found.claimed.is_empty() {
            group.active(consumer, now_ms);
        }
        changes = found.claimed.len() + found.gone.len();
        reply.array(3);
        write_id(found.next, reply);
        write_claimed(log, &found.claimed, claim.just_id, reply);
        reply.array(found.gone.len());
        found.gone.iter().for_each(|&id| write_id(id, reply));
    }
    if is_new {
        tx.changed_quietly(&args[1], events::XGROUP_CREATECONSUMER);
    }
    tx.count_quiet_changes(&args[1], changes);
    propagated.propagate(tx, args);
    Ok(())
}
