//! `LOCK.ACQUIRE`: takes a lock, at once or after a wait.

mod counter;
pub(super) mod grant;
mod limit;
mod options;
pub(super) mod queue;
mod several;

use self::grant::grant;
use self::options::Options;
use super::{graph, ownership};
use crate::keyspace::Tx;
use crate::spec::{
    Args, Attempt, BlockingHandler, BlockingOutcome, CommandError, Flags, Flow, KeyFlags, KeySpec, Null, Row,
    Wait,
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
             [PRIORITY <priority>] [SHARED|EXCLUSIVE] [NOREENTER|MAXHOLDS <count>] [FENCED] \
             [LAYOUT HASH|STRING] [SESSION] [FENCE <resource>]",
        "    Take a lock. Without a lease it is held for 30 seconds; BLOCK waits for it, 0 for ever;",
        "    of the waiters the one with the highest priority is served first, 0 if it names none.",
        "    SHARED and EXCLUSIVE read and write a read-write lock; FENCED: the token is Redisson's counter.",
        "    SESSION: the server renews the lease while the connection lives, and gives the lock back at its end.",
        "    FENCE: the grant raises the highest token of that resource, see LOCK.FENCE.",
    ])
    .syntax(
        "key owner [mode: SHARED | EXCLUSIVE] [EX seconds | PX milliseconds] [BLOCK milliseconds] \
         [PRIORITY priority] [NOREENTER | MAXHOLDS count] [FENCED] [LAYOUT (layout: HASH | STRING)] \
         [SESSION] [FENCE resource]",
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
        "LOCKMODE the key holds a plain lock",
        "DEADLOCK use LOCK.CONVERT: this owner holds the lock shared",
        "REENTRANT this owner holds the lock already",
        "HOLDLIMIT this owner holds the lock *",
        "ERR increment or decrement would overflow",
        "DEADLOCK *",
    ])];

fn acquire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    ownership::check_owner(&args[2])?;
    let options = Options::parse(tx, args, 3, "lock.acquire")?;
    let (block, rank, class) = (options.block, options.rank(), queue::class_of(options.layout));
    let acquire = Acquire { options };
    if acquire.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block else {
        reply.null();
        return Ok(Flow::Done);
    };
    graph::check(tx, &args[2], &[&args[1]])?;
    let mut wait = Wait::on_keys([1], class, acquire, timeout_ms, Null::Bulk);
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
        let granted = grant(tx, &args[1], &args[2], &self.options, waited_ms.is_none())?;
        if let Some(granted) = &granted {
            granted.write(waited_ms.unwrap_or(0), reply);
        }
        Ok(granted.is_some())
    }
}
