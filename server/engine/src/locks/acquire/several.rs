//! `LOCK.MACQUIRE`: takes several locks for an owner, all of them or none.
//!
//! A request that waits has one place in the queues of all its locks. Such a request is served when it is the first in
//! each queue and all locks are free. So of two such requests the older one never waits for the younger.

use super::super::layouts::{Layout, Standing};
use super::super::wait_queue::{self, LOCK_LINE, SEVERAL};
use super::super::{graph, options, ownership, redisson, wait_events};
use super::ACQUIRED;
use super::counter;
use super::grant::{check_fence, grant};
use super::options::{AcquireOptions, MACQUIRE, MACQUIRE_IN_ANY_MODE};
use super::refusal::{may_wait, refuse};
use super::wait_classes::class_of_several;
use super::{grant_notices, holder, option_texts};
use crate::spec::syntax::Shown;
use crate::spec::{
    Answer, Args, Argument, Attempt, BlockingHandler, BlockingOutcome, CommandError, Flags, Flow, KeySpec,
    Null, Row, Symbol, Wait,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Place, Tx};
use std::cell::Cell;
use std::collections::BTreeSet;

const OWNER: Symbol = MACQUIRE_IN_ANY_MODE.symbol("owner");

/// The error for `FAIR`: Redisson has a list of waiters for each key, and no place in several lists at once.
const FAIR: CommandError = CommandError::text("ERR LOCK.MACQUIRE does not accept FAIR: use LOCK.ACQUIRE");

pub(in crate::locks) const ROWS: &[Row<BlockingHandler>] =
    &[Row::new("lock.macquire", -4, acquire as BlockingHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::BLOCKING, Flags::MOVABLEKEYS])
        .categories(&["lock"])
        .keys(&[KeySpec::counted(1, ACQUIRED).notes("ACCESS due to the optional `GETHOLDER` argument")])
        .reads_keys_with("getholder")
        .about("lock", "7.2.0", "O(N log M), N the keys, M the waiters")
        .summary("Acquires several locks for an owner, all of them or none; with BLOCK waits for them.")
        .reply(
            "A map: `tokens`, one for each key, in the order of the keys; `waited` in \
             milliseconds. Null, GETHOLDER and ASYNC are as in LOCK.ACQUIRE; the map of GETHOLDER \
             also has the `key` of the lock that is taken.",
        )
        .options(option_texts::OF_SEVERAL)
        .example(&[
            "LOCK.ACQUIRE room:2 alice PX 5000",
            "LOCK.MACQUIRE 2 room:1 room:2 bob PX 10000",
            "CLOCK.ADVANCE 5000",
            "LOCK.MACQUIRE 2 room:1 room:2 bob PX 10000",
        ])
        .help(&[
            "LOCK.MACQUIRE <numkeys> <key> [<key> ...] <owner> [<option> ...]",
            "    Acquire several locks, all of them or none, with the options of LOCK.ACQUIRE. A waiter has",
            "    one place in all their queues.",
        ])
        .help_after("lock.acquire")
        .grammar(MACQUIRE)
        .errors(&[
            "ERR syntax error: *",
            "ERR numkeys should be greater than 0: *",
            "ERR key '*' is given twice",
            "ERR LOCK.MACQUIRE does not accept FAIR: use LOCK.ACQUIRE",
            "ERR value is not an integer or out of range: *",
            counter::NOT_A_COUNTER,
            counter::NEGATIVE_COUNTER,
            "ERR value is out of range, must be positive: *",
            "ERR invalid expire time in 'lock.macquire' command: *",
            "ERR timeout is not an integer or out of range: *",
            "ERR timeout is negative: *",
            "ERR invalid owner: *",
            "ERR the lease of a session must be at least 100 milliseconds, not *",
            "ERR invalid PING interval: *",
            "ERR DATA is longer than 4096 bytes",
            "ERR ASYNC reports the grant by a push message, which needs RESP3: send HELLO 3",
            "WAITQFULL this connection already waits for 1024 locks",
            "LOCKMODE the key holds a read-write lock",
            "LOCKMODE the key holds a plain lock",
            "REENTRANT this owner already holds the lock",
            "HOLDLIMIT this owner already holds the lock *",
            "ERR increment or decrement would overflow",
            "DEADLOCK *",
            "DEADLOCK this owner holds the lock in shared mode: use LOCK.CONVERT",
            "ERR this resource accepts tokens of the *",
            "ERR the names of the resource and its lock are too long: a resource takes at most 4194304 bytes",
            "UNBLOCKED LOCK.CANCEL ended the wait",
        ])];

fn acquire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let parsed = MACQUIRE_IN_ANY_MODE.matched(args).or_else(|_| MACQUIRE.parse(args))?;
    let count = options::keys_before(&parsed, OWNER);
    ownership::check_owner(&args[count + 2])?;
    let options = AcquireOptions::of(tx, &parsed, "lock.macquire")?;
    if matches!(options.layout, Layout::Fair { .. }) {
        return Err(FAIR);
    }
    let keys = &args.from(2)[..count];
    let mut seen = BTreeSet::new();
    if let Some(key) = keys.iter().find(|key| !seen.insert(**key)) {
        return Err(CommandError::new(format!("ERR key '{}' is given twice", Shown(key))));
    }
    options.check_pushes(tx, reply.protocol())?;
    let (block, rank) = (options.wait(), options.priority.saturating_neg());
    let by_ticket = options.asynchronous;
    let class = class_of_several(options.layout);
    let acquire = AcquireSeveral { count, options, lacked: Cell::new(0) };
    if acquire.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block.filter(|_| may_wait(tx)) else {
        refuse(acquire.on_timeout(tx, args), reply);
        return Ok(Flow::Done);
    };
    let shares = wait_queue::shares(class.name);
    graph::check(tx, graph::Newcomer { owner: &args[count + 2], keys, rank, shares, together: true })?;
    keys.iter().for_each(|key| wait_events::queued(tx, key, &args[count + 2]));
    let mut wait = Wait::on_keys(2..count + 2, class, acquire, timeout_ms, Null::Bulk);
    wait.retry.label = Some(count + 2);
    wait.retry.rank = rank;
    wait.retry.by_ticket = by_ticket;
    Ok(wait.into())
}

#[derive(Debug)]
struct AcquireSeveral {
    count: usize,
    options: AcquireOptions,
    /// The index of a key that the owner could not have at the last attempt.
    lacked: Cell<usize>,
}

impl AcquireSeveral {
    /// Whether the owner can have this lock: free and first in the queue, held already, or shared with other sharers.
    fn is_next(&self, tx: &mut Tx<'_>, key: &[u8], owner: &[u8], waits: bool) -> Result<bool, CommandError> {
        match self.options.layout.standing(tx, key, owner)? {
            Standing::Others => return Ok(false),
            Standing::Mine(holds) => {
                self.options.limit.another(holds, true)?;
                if holds < 1 && self.options.fenced {
                    counter::following(tx, key)?;
                }
                return Ok(true);
            }
            Standing::Free if self.options.fenced => drop(counter::following(tx, key)?),
            Standing::Free => {}
        }
        let rank = self.options.priority.saturating_neg();
        Ok(match tx.first_in_line(key, LOCK_LINE) {
            None => true,
            Some(_) if !waits && self.options.layout == Layout::Shared => {
                wait_queue::last_alone(tx, key, Some(Place::of_newcomer(rank))).is_none()
            }
            Some((_, first)) if waits => SEVERAL.contains(&first.class) && *first.label == *owner,
            Some((place, _)) => place.rank > rank,
        })
    }

    /// Whether a newcomer can have all locks. All are looked at, so that an error does not depend on the order of the
    /// keys. O(n log m), n the keys, m the waiters.
    fn newcomer_can_have_all(
        &self,
        tx: &mut Tx<'_>,
        keys: &[&[u8]],
        owner: &[u8],
    ) -> Result<bool, CommandError> {
        let mut lacked = None;
        for (at, key) in keys.iter().enumerate() {
            if !self.is_next(tx, key, owner, false)? {
                lacked = lacked.or(Some(at));
            }
        }
        self.lacked.set(lacked.unwrap_or(0));
        Ok(lacked.is_none())
    }
}

impl Attempt for AcquireSeveral {
    /// Whether the waiter can have all locks. The look begins at the lock that it lacked before, and ends at the first
    /// one that it lacks: n releases of one lock after another cost O(n log m) together, m the waiters.
    fn may_serve(&self, tx: &mut Tx<'_>, argument: Argument<'_, '_>) -> Result<bool, CommandError> {
        let (owner, first) = (argument(self.count + 2), self.lacked.get());
        for at in (first..self.count).chain(0..first) {
            if !self.is_next(tx, argument(at + 2), owner, true)? {
                self.lacked.set(at);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let (keys, owner) = (&args.from(2)[..self.count], &args[self.count + 2]);
        // A retry follows a look at all locks.
        if waited_ms.is_none() && !self.newcomer_can_have_all(tx, keys, owner)? {
            return Ok(false);
        }
        check_fence(tx, keys, owner, &self.options)?;
        let mut tokens = Vec::with_capacity(self.count);
        for key in keys {
            let Some(granted) = grant(tx, key, owner, &self.options, false)? else { continue };
            grant_notices::notify_grant(
                tx,
                (key, owner, &self.options.layout.field(owner)),
                waited_ms,
                reply.protocol(),
            );
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

    fn on_timeout(&self, tx: &Tx<'_>, args: Args<'_>) -> Option<Answer> {
        if !self.options.get_holder {
            return None;
        }
        let (keys, owner) = (&args.from(2)[..self.count], &args[self.count + 2]);
        let is_held = |key: &&&[u8]| tx.peek(key).is_some_and(|value| !redisson::is_held_by(value, owner));
        let key = keys.iter().find(is_held).unwrap_or(&keys[0]);
        Some(holder::answer(tx, key, self.options.rank(), true))
    }
}
