//! `LOCK.ACQUIRE`: takes a lock, at once or after a wait.

mod grant;
mod limit;
mod options;
mod several;

use self::grant::grant;
use self::options::Options;
use super::{graph, ownership};
use crate::keyspace::Tx;
use crate::spec::{
    Args, Asking, Attempt, BlockingHandler, BlockingOutcome, CommandError, Flags, Flow, KeyFlags, KeySpec,
    Null, Row, Wait, WaitClass,
};
use lockwheel_resp::Reply;

pub(super) use several::{ROWS as SEVERAL_ROWS, SEVERAL};

/// The rows of this file.
pub(super) const ROWS: &[Row<BlockingHandler>] = &[Row::new("lock.acquire", -3, acquire as BlockingHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST, Flags::BLOCKING])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(log N), N the waiters")
    .summary("Takes a lock for an owner, re-entrantly; with BLOCK waits, by priority, then first come first served.")
    .help(&[
        "LOCK.ACQUIRE <key> <owner> [EX <seconds>|PX <milliseconds>] [BLOCK <milliseconds>] \
             [PRIORITY <priority>] [NOREENTER|MAXHOLDS <count>] [SESSION] [FENCE <resource>]",
        "    Take a lock. Without a lease it is held for 30 seconds; BLOCK waits for it, 0 for ever;",
        "    of the waiters the one with the highest priority is served first, 0 if it names none.",
        "    SESSION: the server renews the lease while the connection lives, and gives the lock back at its end.",
        "    FENCE: the grant raises the highest token of that resource, see LOCK.FENCE.",
    ])
    .syntax(
        "key owner [EX seconds | PX milliseconds] [BLOCK milliseconds] [PRIORITY priority] \
         [NOREENTER | MAXHOLDS count] [LAYOUT HASH] [SESSION] [FENCE resource]",
    )
    .errors(&[
        "ERR syntax error",
        "ERR value is not an integer or out of range",
        "ERR value is out of range, must be positive",
        "ERR invalid expire time in 'lock.acquire' command",
        "ERR timeout is not an integer or out of range",
        "ERR timeout is negative",
        "ERR invalid owner",
        "ERR the lease of a session is at least 100 milliseconds",
        "LOCKMODE the key holds a read-write lock",
        "REENTRANT this owner holds the lock already",
        "HOLDLIMIT this owner holds the lock *",
        "ERR increment or decrement would overflow",
        "DEADLOCK *",
    ])];

/// Waiters on a lock. An owner that already holds it is served out of order: in order it would come only after it
/// released the lock itself.
const LOCK: WaitClass = WaitClass {
    name: "lock",
    line: "lock",
    accepts: |_| true,
    asking: Asking::InOrder,
    out_of_turn: Some(ownership::waiting_holders),
    counts: true,
};

fn acquire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    ownership::check_owner(&args[2])?;
    let options = Options::parse(tx, args, 3, "lock.acquire")?;
    let (block, rank) = (options.block, options.priority.saturating_neg());
    let acquire = Acquire { options };
    if acquire.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block else {
        reply.null();
        return Ok(Flow::Done);
    };
    graph::check(tx, &args[2], &[&args[1]])?;
    let mut wait = Wait::on_keys([1], &LOCK, acquire, timeout_ms, Null::Bulk);
    wait.retry.label = Some(2);
    wait.retry.rank = rank;
    Ok(wait.into())
}

/// A request for a lock by its owner.
#[derive(Debug)]
struct Acquire {
    options: Options,
}

impl Attempt for Acquire {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        if waited_ms.is_none() && several::is_ahead(tx, &args[1], &args[2], &self.options)? {
            return Ok(false);
        }
        let granted = grant(tx, &args[1], &args[2], &self.options)?;
        if let Some(granted) = &granted {
            granted.write(waited_ms.unwrap_or(0), reply);
        }
        Ok(granted.is_some())
    }
}
