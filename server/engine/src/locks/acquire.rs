//! `LOCK.ACQUIRE`: takes a lock, at once or after a wait.

use super::ledger::{self, ReleaseCause};
use super::options::{self, DEFAULT_LEASE_MS};
use super::ownership::{self, Ownership};
use crate::keyspace::{Tx, events};
use crate::spec::{
    Args, Asking, Attempt, BlockingHandler, BlockingOutcome, CommandError, Flags, Flow, KeyFlags, KeySpec,
    Null, Row, Wait, WaitClass, errors,
};
use crate::values::{Hash, IntText};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<BlockingHandler>] = &[Row::new("lock.acquire", -3, acquire as BlockingHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST, Flags::BLOCKING])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(log N), N the waiters")
    .summary("Takes a lock for an owner, re-entrantly; with BLOCK waits for it, first come first served.")
    .help(&[
        "LOCK.ACQUIRE <key> <owner> [EX <seconds>|PX <milliseconds>] [BLOCK <milliseconds>]",
        "    Take a lock. Without a lease it is held for 30 seconds; BLOCK waits for it, 0 for ever.",
    ])
    .syntax("key owner [EX seconds | PX milliseconds] [BLOCK milliseconds]")
    .errors(&[
        "ERR syntax error",
        "ERR value is not an integer or out of range",
        "ERR invalid expire time in 'lock.acquire' command",
        "ERR timeout is not an integer or out of range",
        "ERR timeout is negative",
        "ERR invalid owner",
        "LOCKMODE the key holds a read-write lock",
        "ERR increment or decrement would overflow",
    ])];

/// What the options ask for.
struct Options {
    lease_ms: i64,
    /// `None`: do not wait. `Some(None)`: wait for ever.
    block: Option<Option<u64>>,
}

impl Options {
    fn parse(tx: &Tx<'_>, args: Args<'_>) -> Result<Self, CommandError> {
        let (mut lease, mut block) = (None, None);
        for at in (3..args.len()).step_by(2) {
            if let Some(ms) = options::lease_ms(tx, args, at, "lock.acquire")?
                && lease.replace(ms).is_none()
            {
                continue;
            }
            if !args.is(at, "block") || block.replace(options::block_ms(args, at + 1)?).is_some() {
                return Err(errors::SYNTAX);
            }
        }
        Ok(Options { lease_ms: lease.unwrap_or(DEFAULT_LEASE_MS), block })
    }
}

/// Waiters on a lock. An owner that already holds it is served out of order: in order it would come only after it
/// released the lock itself.
const LOCK: WaitClass = WaitClass {
    name: "lock",
    accepts: |_| true,
    asking: Asking::InOrder,
    out_of_turn: Some(ownership::waiting_holders),
    counts: true,
};

fn acquire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    ownership::check_owner(&args[2])?;
    let Options { lease_ms, block } = Options::parse(tx, args)?;
    let acquire = Acquire { lease_ms };
    if acquire.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block else {
        reply.null();
        return Ok(Flow::Done);
    };
    let mut wait = Wait::on_keys([1], &LOCK, acquire, timeout_ms, Null::Bulk);
    wait.retry.label = Some(2);
    Ok(wait.into())
}

/// A request for a lock by its owner.
#[derive(Debug)]
struct Acquire {
    lease_ms: i64,
}

impl Attempt for Acquire {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let (key, owner) = (&args[1], &args[2]);
        let holds = match ownership::ownership(tx, key, owner)? {
            Ownership::Free => 1,
            Ownership::Mine(holds) => holds.checked_add(1).ok_or(errors::INCREMENT_OVERFLOW)?,
            Ownership::Others => return Ok(false),
        };
        let deadline = tx.now().wall_ms().saturating_add(self.lease_ms);
        let edit = tx.write_or_new::<Hash>(key)?;
        edit.value.set(owner, &IntText::new(holds), edit.encodings);
        let at = edit.at;
        tx.set_deadline(key, deadline);
        let acquired = ledger::acquired(tx, at, key, owner, holds > 1);
        let predecessor = acquired.predecessor.map_or("none", ReleaseCause::name);
        tx.changed(key, events::HINCRBY);
        tx.changed(key, events::EXPIRE);
        reply.map(5);
        field(reply, "token", acquired.token as i64);
        field(reply, "holds", holds);
        field(reply, "ttl", self.lease_ms);
        field(reply, "waited", waited_ms.unwrap_or(0) as i64);
        reply.bulk(b"predecessor");
        reply.bulk(predecessor.as_bytes());
        Ok(true)
    }
}

fn field(reply: &mut dyn Reply, name: &str, value: i64) {
    reply.bulk(name.as_bytes());
    reply.integer(value);
}
