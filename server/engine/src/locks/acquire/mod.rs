//! `LOCK.ACQUIRE`: takes a lock, at once or after a wait.

pub(super) mod counter;
pub(super) mod grant;
pub(super) mod grant_notices;
mod holder;
mod limit;
mod option_texts;
mod options;
pub(super) mod refusal;
mod several;
mod wait_classes;

use self::grant::grant;
use self::options::AcquireOptions;
use self::refusal::{may_wait, refuse};
use self::wait_classes::class_of;
use super::wait_queue::Precedence;
use super::{graph, ownership, wait_events, wait_queue};
use crate::spec::{
    Answer, Args, Argument, Attempt, BlockingHandler, BlockingOutcome, CommandError, Flags, Flow, KeyFlags,
    KeySpec, Null, ParsedArgs, Row, Wait,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

pub(super) use several::ROWS as SEVERAL_ROWS;
pub(super) use wait_classes::conversion;

/// The uses that a request makes of the keys of the locks that it takes.
const ACQUIRED: &[KeyFlags] = &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE, KeyFlags::VARIABLE_FLAGS];

pub(super) const ROWS: &[Row<BlockingHandler>] = &[Row::new("lock.acquire", -3, acquire as BlockingHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST, Flags::BLOCKING])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, ACQUIRED).notes("ACCESS due to the optional `GETHOLDER` argument")])
    .reads_keys_with("getholder")
    .about("lock", "7.2.0", "O(log N), N the waiters")
    .summary("Acquires a lock for an owner, reentrantly; BLOCK waits by priority, then in order of arrival.")
    .reply(
        "A map: `token`; `holds`, the holds of the owner; `ttl` and `waited` in milliseconds; \
         `predecessor`, how the last hold ended. Null if the lock is taken, or if BLOCK has \
         passed. With GETHOLDER, a map with `holder`, `ttl`, `position` and perhaps `data` \
         instead of null. With ASYNC, the array QUEUED and the ticket, if the request waits.",
    )
    .options(option_texts::OF_ONE)
    .example(&[
        "LOCK.ACQUIRE order:42 alice PX 10000",
        "LOCK.ACQUIRE order:42 bob PX 10000",
        "LOCK.ACQUIRE order:42 bob PX 10000 GETHOLDER",
        "LOCK.ACQUIRE order:42 bob PX 10000 ASYNC",
    ])
    .help(&[
        "LOCK.ACQUIRE <key> <owner> [EX <seconds>|PX <milliseconds>] [BLOCK <milliseconds>] \
             [PRIORITY <priority>] [SHARED|EXCLUSIVE|FAIR] [NOREENTER|MAXHOLDS <count>] [FENCED] \
             [LAYOUT HASH|STRING] [SESSION [PING <milliseconds>]] [FENCE <resource>] [DELAY <milliseconds>] \
             [DATA <data>] [GETHOLDER] [ASYNC]",
        "    Acquire a lock. The default lease is 30 seconds. BLOCK waits for the lock, 0 for ever.",
        "    PRIORITY: the waiter with the highest priority is served first; the default is 0.",
        "    SHARED and EXCLUSIVE: read or write a read-write lock. FENCED: the token is Redisson's counter.",
        "    FAIR: a waiter joins the queue of Redisson's fair lock.",
        "    SESSION: the server renews the lease while the connection lives, and releases the lock when the",
        "    connection ends. With PING, also when the client has sent nothing for that time.",
        "    FENCE: the grant raises the highest token of the resource; see LOCK.FENCE.",
        "    DELAY: after the lease or the session has ended, nobody gets the lock for that time.",
        "    DATA: a note of the holder, which other clients can read; at most 4096 bytes.",
        "    GETHOLDER: if the lock is taken, reply with the holder, the time left, and the place in the",
        "    queue.",
        "    ASYNC: reply with QUEUED and a ticket instead of blocking. A push message reports the grant",
        "    (RESP3).",
    ])
    .grammar(options::ACQUIRE)
    .errors(&[
        "ERR syntax error: *",
        "ERR value is not an integer or out of range: *",
        counter::NOT_A_COUNTER,
        counter::NEGATIVE_COUNTER,
        "ERR value is out of range, must be positive: *",
        "ERR invalid expire time in 'lock.acquire' command: *",
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
        "DEADLOCK this owner holds the lock in shared mode: use LOCK.CONVERT",
        "REENTRANT this owner already holds the lock",
        "HOLDLIMIT this owner already holds the lock *",
        "ERR increment or decrement would overflow",
        "DEADLOCK *",
        "ERR this resource accepts tokens of the *",
        "ERR the names of the resource and its lock are too long: a resource takes at most 4194304 bytes",
        "UNBLOCKED LOCK.CANCEL ended the wait",
    ])];

fn acquire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    ownership::check_owner(&args[2])?;
    let mut parsed = ParsedArgs::new(args);
    options::ACQUIRE.parse_into(&mut parsed)?;
    let options = AcquireOptions::of(tx, &parsed, "lock.acquire")?;
    options.check_pushes(tx, reply.protocol())?;
    let (block, rank, class) = (options.wait(), options.rank(), class_of(options.layout));
    let by_ticket = options.asynchronous;
    let acquire = Acquire { options };
    if acquire.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block.filter(|_| may_wait(tx)) else {
        refuse(acquire.on_timeout(tx, args), reply);
        return Ok(Flow::Done);
    };
    let shares = wait_queue::shares(class.name);
    graph::check(tx, graph::Newcomer { owner: &args[2], keys: &[&args[1]], rank, shares, together: false })?;
    let beside = acquire.options.layout.join(tx, &args[1], &args[2])?;
    wait_events::queued(tx, &args[1], &args[2]);
    let mut wait = Wait::on_keys([1], class, acquire, timeout_ms, Null::Bulk);
    wait.retry.label = Some(2);
    wait.retry.rank = rank;
    wait.retry.beside = beside;
    wait.retry.by_ticket = by_ticket;
    Ok(wait.into())
}

#[derive(Debug)]
struct Acquire {
    options: AcquireOptions,
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
        let layout = self.options.layout;
        let precedence = match waited_ms {
            None => wait_queue::precedence(tx, key, self.options.rank(), class_of(layout).name),
            Some(_) => Precedence::Newcomer,
        };
        if precedence == Precedence::HeldBack {
            return Ok(false);
        }
        let granted = grant(tx, key, owner, &self.options, precedence == Precedence::WhileFree)?;
        if let Some(granted) = &granted {
            grant_notices::notify_grant(
                tx,
                (key, owner, &self.options.layout.field(owner)),
                waited_ms,
                reply.protocol(),
            );
            granted.write(waited_ms.unwrap_or(0), reply);
        }
        if waited_ms.is_some() {
            layout.retried(tx, key, owner, granted.is_some())?;
        }
        Ok(granted.is_some())
    }

    fn on_timeout(&self, tx: &Tx<'_>, args: Args<'_>) -> Option<Answer> {
        self.options.get_holder.then(|| holder::answer(tx, &args[1], self.options.rank(), false))
    }

    fn ready_at_ms(&self, tx: &mut Tx<'_>, argument: Argument<'_, '_>) -> Option<i64> {
        self.options.layout.ready_at_ms(tx, argument(1))
    }

    fn leave(&self, tx: &mut Tx<'_>, args: Args<'_>) {
        self.options.layout.leave(tx, &args[1], &args[2]);
    }
}
