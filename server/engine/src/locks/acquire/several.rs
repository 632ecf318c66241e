//! `LOCK.MACQUIRE`: takes several locks for an owner, all of them or none.
//!
//! A request that waits has one place in the queues of all its locks, and is served when it is the first in each of
//! them and all are free. So of two such requests the older one never waits for the younger.

use super::super::layouts::{Layout, Standing};
use super::super::{events, graph, options, ownership};
use super::counter;
use super::grant::grant;
use super::options::Options;
use crate::keyspace::Tx;
use crate::spec::{
    Args, Asking, Attempt, BlockingHandler, BlockingOutcome, CommandError, Flags, Flow, KeyFlags, KeySpec,
    Null, Row, Wait, WaitClass, errors,
};
use lockwheel_resp::Reply;
use std::collections::BTreeSet;

const DUPLICATE: CommandError = CommandError::text("ERR a key is named twice");

/// The rows of this file.
pub(in crate::locks) const ROWS: &[Row<BlockingHandler>] =
    &[Row::new("lock.macquire", -4, acquire as BlockingHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::BLOCKING, Flags::MOVABLEKEYS])
        .categories(&["lock"])
        .keys(&[KeySpec::counted(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
        .about("lock", "7.2.0", "O(N log M), N the keys, M the waiters")
        .summary("Takes several locks for an owner, all of them or none; with BLOCK waits for them.")
        .help(&[
            "LOCK.MACQUIRE <numkeys> <key> [<key> ...] <owner> [<option> ...]",
            "    Take several locks, all of them or none, with the options of LOCK.ACQUIRE. Who waits for them has one",
            "    place in all their queues.",
        ])
        .help_after("lock.acquire")
        .syntax(
            "numkeys key [key ...] owner [mode: SHARED | EXCLUSIVE] [EX seconds | PX milliseconds] \
             [BLOCK milliseconds] [PRIORITY priority] [NOREENTER | MAXHOLDS count] [FENCED] \
             [LAYOUT (layout: HASH | STRING)] [SESSION] [FENCE resource]",
        )
        .errors(&[
            "ERR syntax error",
            "ERR numkeys should be greater than 0",
            "ERR a key is named twice",
            "ERR value is not an integer or out of range",
            "ERR value is out of range, must be positive",
            "ERR invalid expire time in 'lock.macquire' command",
            "ERR timeout is not an integer or out of range",
            "ERR timeout is negative",
            "ERR invalid owner",
            "ERR the lease of a session is at least 100 milliseconds",
            "LOCKMODE the key holds a read-write lock",
            "LOCKMODE the key holds a plain lock",
            "REENTRANT this owner holds the lock already",
            "HOLDLIMIT this owner holds the lock *",
            "ERR increment or decrement would overflow",
            "DEADLOCK *",
        ])];

/// The line in which requests for one lock and for several stand.
const LINE: &str = "lock";

/// Those who wait for several locks. One whose owner has come to hold one of them is tried again out of turn, since it
/// need not queue there any more.
pub(in crate::locks) const SEVERAL: WaitClass = WaitClass {
    name: "locks",
    line: LINE,
    accepts: |_| true,
    asking: Asking::InOrder,
    out_of_turn: Some(ownership::waiting_holders),
    counts: true,
};

/// Whether a request for several locks stands in the queue of one that the owner does not hold, before a newcomer of
/// this priority: it may wait for its other locks while this one is free.
pub(super) fn is_ahead(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    options: &Options,
) -> Result<bool, CommandError> {
    let Some(first) = tx.first_waiting(key, SEVERAL.name) else { return Ok(false) };
    let is_first = first.rank > options.priority.saturating_neg();
    Ok(!is_first && options.layout.standing(tx, key, owner)? == Standing::Free)
}

fn acquire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let count = options::numkeys(args, 1)?;
    if args.len() < count + 3 {
        return Err(errors::SYNTAX);
    }
    ownership::check_owner(&args[count + 2])?;
    let options = Options::parse(tx, args, count + 3, "lock.macquire")?;
    if options.layout == Layout::Fair {
        return Err(errors::SYNTAX);
    }
    let keys = &args.from(2)[..count];
    if keys.iter().collect::<BTreeSet<_>>().len() < count {
        return Err(DUPLICATE);
    }
    let (block, rank) = (options.block, options.priority.saturating_neg());
    let acquire = AcquireSeveral { count, options };
    if acquire.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block else {
        reply.null();
        return Ok(Flow::Done);
    };
    graph::check(tx, &args[count + 2], keys)?;
    keys.iter().for_each(|key| events::queued(tx, key, &args[count + 2]));
    let mut wait = Wait::on_keys(2..count + 2, &SEVERAL, acquire, timeout_ms, Null::Bulk);
    wait.retry.label = Some(count + 2);
    wait.retry.rank = rank;
    Ok(wait.into())
}

/// A request for several locks by their owner.
#[derive(Debug)]
struct AcquireSeveral {
    count: usize,
    options: Options,
}

impl AcquireSeveral {
    /// Whether the owner can have this lock: it holds it, or it is free and nobody stands before it in the queue.
    fn is_next(&self, tx: &mut Tx<'_>, key: &[u8], owner: &[u8], waits: bool) -> Result<bool, CommandError> {
        match self.options.layout.standing(tx, key, owner)? {
            Standing::Others => return Ok(false),
            Standing::Mine(holds) => {
                self.options.limit.another(holds, true)?;
                return Ok(true);
            }
            Standing::Free if self.options.fenced => drop(counter::following(tx, key)?),
            Standing::Free => {}
        }
        let rank = self.options.priority.saturating_neg();
        Ok(match tx.first_in_line(key, LINE) {
            None => true,
            Some((_, first)) if waits => first.class == SEVERAL.name && *first.label == *owner,
            Some((place, _)) => place.rank > rank,
        })
    }
}

impl Attempt for AcquireSeveral {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let (keys, owner) = (&args.from(2)[..self.count], &args[self.count + 2]);
        // All are checked before any is taken.
        for key in keys {
            if !self.is_next(tx, key, owner, waited_ms.is_some())? {
                return Ok(false);
            }
        }
        let mut tokens = Vec::with_capacity(self.count);
        for key in keys {
            let Some(granted) = grant(tx, key, owner, &self.options, false)? else { continue };
            self.options.tell(tx, (key, owner), granted.token, waited_ms, reply.protocol());
            tokens.push(granted.token);
        }
        reply.map(2);
        reply.bulk(b"tokens");
        reply.array(tokens.len());
        tokens.iter().for_each(|token| reply.integer(*token as i64));
        reply.bulk(b"waited");
        reply.integer(waited_ms.unwrap_or(0) as i64);
        Ok(true)
    }
}
