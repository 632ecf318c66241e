//! `LOCK.CONVERT`: makes a reader a writer, or a writer a reader. The lock is not free in between.

use super::acquire::grant::Granted;
use super::acquire::refusal::{check_pushes, may_wait};
use super::acquire::{conversion, counter, grant_notices};
use super::events::announce;
use super::graph;
use super::layouts::read_write::{self, Hands};
use super::ledger::{Delay, Detail};
use super::options::{block_ms, lease_ms};
use super::ownership;
use super::records;
use super::redisson::write_field;
use super::release::{HoldMode, NOT_HELD, lost};
use super::session_leases::SessionLease;
use super::sessions;
use super::snapshot::LockMode;
use super::{wait_events, wait_queue};
use crate::spec::{
    Args, Attempt, BlockingHandler, BlockingOutcome, CommandError, CommandGrammar, Flags, Flow, KeyFlags,
    KeySpec, Null, ParsedArgs, Row, Wait, grammar, symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{EventValue, Tx};

const DEADLOCK: CommandError = CommandError::text(
    "DEADLOCK another shared holder already waits for the exclusive mode: both would wait for ever",
);
const TWICE: CommandError = CommandError::text("DEADLOCK this owner already waits for the exclusive mode");

const CONVERT: &CommandGrammar = grammar!(
    "key owner (mode: SHARED | EXCLUSIVE) [EX seconds:1.. | PX milliseconds:1..] [BLOCK milliseconds:0..] \
     [TOKEN token] [ASYNC]"
);

symbols!(CONVERT: SHARED, EX, PX, BLOCK, TOKEN, ASYNC);

pub(super) const ROWS: &[Row<BlockingHandler>] = &[Row::new("lock.convert", -4, convert as BlockingHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST, Flags::BLOCKING])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(log N + M), N the waiters, M the owner's holds")
    .summary("Upgrades the only reader to a writer, or downgrades a writer; BLOCK waits before all others.")
    .reply(
        "The map of LOCK.ACQUIRE. Null if there are other readers, or if BLOCK has passed. \
         With ASYNC, the array QUEUED and the ticket, if the request waits.",
    )
    .options(&[&[
        ("SHARED", "Makes the writer a reader. The owner keeps its token."),
        ("EXCLUSIVE", "Makes the only reader the writer."),
        ("EX seconds", "The lease, if the mode changes. Without EX and PX, the lease stays."),
        ("PX milliseconds", "The lease, in milliseconds."),
        (
            "BLOCK milliseconds",
            "Waits until the other readers have gone, ahead of all other waiters. 0 \
             waits for ever.",
        ),
        ("TOKEN token", "Converts only the hold with this token."),
        ("ASYNC", "Replies at once, and reports the conversion by a push (RESP3)."),
    ]])
    .example(&[
        "LOCK.ACQUIRE report alice SHARED PX 10000",
        "LOCK.CONVERT report alice EXCLUSIVE",
        "LOCK.CONVERT report alice SHARED",
    ])
    .help(&[
        "LOCK.CONVERT <key> <owner> SHARED|EXCLUSIVE [EX <seconds>|PX <milliseconds>] [BLOCK <milliseconds>] \
             [TOKEN <token>] [ASYNC]",
        "    Upgrade a reader to a writer, or downgrade a writer. One reader at a time can wait for an",
        "    upgrade.",
    ])
    .help_after("lock.acquire")
    .grammar(CONVERT)
    .errors(&[
        "ERR syntax error: *",
        "ERR invalid owner: *",
        "ERR value is not an integer or out of range: *",
        counter::NOT_A_COUNTER,
        counter::NEGATIVE_COUNTER,
        "ERR invalid expire time in 'lock.convert' command: *",
        "ERR timeout is not an integer or out of range: *",
        "ERR timeout is negative: *",
        "ERR hash value is not an integer",
        "ERR value is out of range, must be positive: *",
        "ERR increment or decrement would overflow",
        "NOTHELD this owner does not hold the lock",
        "LOCKLOST this owner lost the lock: grant *",
        "STALE token *",
        "LOCKMODE the key holds a plain lock",
        "DEADLOCK *",
        "DEADLOCK this owner already waits for the exclusive mode",
        "DEADLOCK another shared holder already waits for the exclusive mode: both would wait for ever",
        "ERR ASYNC reports the grant by a push message, which needs RESP3: send HELLO 3",
        "WAITQFULL this connection already waits for 1024 locks",
        "UNBLOCKED LOCK.CANCEL ended the wait",
    ])];

#[derive(Debug)]
struct Convert {
    to: HoldMode,
    lease_ms: Option<i64>,
    token: Option<i64>,
}

#[derive(Debug)]
struct Waiting {
    /// The time to wait in milliseconds. `None`: no wait. `Some(None)`: no limit.
    block: Option<Option<u64>>,
    by_ticket: bool,
}

fn parse(tx: &Tx<'_>, args: Args<'_>) -> Result<(Convert, Waiting), CommandError> {
    let options: ParsedArgs<'_> = CONVERT.parse(args)?;
    let to = if options.has(SHARED) { HoldMode::Shared } else { HoldMode::Exclusive };
    let lease_ms = lease_ms(tx, &options, &[(EX, 1000), (PX, 1)], "lock.convert")?;
    let block = block_ms(&options, BLOCK)?;
    let by_ticket = options.has(ASYNC);
    let convert = Convert { to, lease_ms, token: options.integer(TOKEN)? };
    // A request that gives its client a ticket waits without a limit unless a limit is given.
    Ok((convert, Waiting { block: block.or(by_ticket.then_some(None)), by_ticket }))
}

fn convert(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    ownership::check_owner(&args[2])?;
    let (convert, Waiting { block, by_ticket }) = parse(tx, args)?;
    if by_ticket {
        check_pushes(tx, reply.protocol())?;
    }
    if convert.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block.filter(|_| may_wait(tx)) else {
        reply.null();
        return Ok(Flow::Done);
    };
    if wait_queue::conversion_waits(tx, &args[1]) {
        let is_own = wait_queue::waits_to_convert(tx, &args[1], &args[2]);
        return Err(if is_own { TWICE } else { DEADLOCK });
    }
    let (owner, rank) = (&args[2], wait_queue::FIRST);
    graph::check(tx, graph::Newcomer { owner, keys: &[&args[1]], rank, shares: false, together: false })?;
    wait_events::queued(tx, &args[1], &args[2]);
    let mut wait = Wait::on_keys([1], conversion(), convert, timeout_ms, Null::Bulk);
    wait.retry.label = Some(2);
    wait.retry.by_ticket = by_ticket;
    wait.retry.rank = rank;
    Ok(wait.into())
}

impl Attempt for Convert {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let (key, owner) = (&args[1], &args[2]);
        let writer = write_field(owner);
        let hands = match read_write::hands(tx, key, owner) {
            Ok(Some(hands)) if hands.reads > 0 || hands.writes > 0 => hands,
            Ok(_) => return Err(lost(tx, key, owner, &writer).unwrap_or(NOT_HELD)),
            Err(other) => return Err(lost(tx, key, owner, &writer).unwrap_or(other)),
        };
        let field = if hands.writes > 0 { &writer[..] } else { owner };
        if let Some(token) = self.token {
            ownership::check_token(tx, key, field, token)?;
        }
        let granted = match self.to {
            HoldMode::Exclusive if hands.writes > 0 => as_it_is(tx, key, field, hands.writes),
            HoldMode::Exclusive if hands.others => return Ok(false),
            HoldMode::Exclusive => self.upgrade(tx, key, owner, hands)?,
            HoldMode::Shared if hands.writes == 0 => as_it_is(tx, key, field, hands.reads),
            HoldMode::Shared => self.downgrade(tx, key, owner, hands)?,
        };
        let (is_written, becomes_writer) = (hands.writes > 0, self.to == HoldMode::Exclusive);
        if is_written != becomes_writer {
            let mode = if becomes_writer { "exclusive" } else { "shared" };
            let field = if becomes_writer { &writer[..] } else { owner };
            let grant = records::grant(tx, key, field).map_or(granted.token, |grant| grant.number);
            announce_converted(tx, key, owner, grant, mode);
            grant_notices::notify_grant(tx, (key, owner, field), waited_ms, reply.protocol());
        }
        granted.write(waited_ms.unwrap_or(0), reply);
        Ok(true)
    }
}

impl Convert {
    /// Makes the only reader a writer. Its shared holds stay, and its exclusive hold gets a grant of its own. For a
    /// fenced lock, the token of that grant is the counter's next number.
    fn upgrade(
        &self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
        hands: Hands,
    ) -> Result<Granted, CommandError> {
        let lease_ms = self.lease_ms.unwrap_or_else(|| left_ms(tx, key));
        let lease = converting_lease(tx, sessions_of(tx, key, owner), hands.reads);
        let detail = detail_of(tx, key, owner);
        let writer = write_field(owner);
        let counter = if records::is_fenced(tx, key, owner) { Some(counter::next(tx, key)?) } else { None };
        let at = read_write::write(tx, key, owner, 1, lease_ms)?;
        let acquired = records::acquired(tx, at, key, &writer, false);
        if let Some(Detail { data, delay, .. }) = detail {
            let delay = delay.map(|delay| Delay { mode: LockMode::Exclusive, ..delay });
            records::describe(tx, acquired.grant, Detail { token: counter, data, delay });
        }
        if let Some(lease) = lease {
            sessions::begin(tx, acquired.grant, SessionLease { holder: (*writer).into(), holds: 1, ..lease });
        }
        sessions::uphold(tx, acquired.grant);
        let token = counter.unwrap_or(acquired.token);
        let ttl_ms = left_ms(tx, key);
        Ok(Granted { token, holds: 1, ttl_ms, predecessor: None })
    }

    /// Makes the writer a reader, with the same grant.
    fn downgrade(
        &self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
        hands: Hands,
    ) -> Result<Granted, CommandError> {
        let leases = joined(sessions_of(tx, key, owner), sessions_of(tx, key, &write_field(owner)));
        let of_reads = records::grant(tx, key, owner).map(|grant| grant.number);
        let lease = self.lease_ms.map_or_else(|| (left_ms(tx, key), true), |lease_ms| (lease_ms, false));
        read_write::downgrade(tx, key, owner, hands, lease)?;
        if let Some(grant) = records::grant(tx, key, owner).map(|grant| grant.number) {
            // Shared holds beneath the exclusive hold are merged with it.
            for ended in of_reads.into_iter().chain([grant]) {
                records::with_leases(tx, |leases| leases.end(ended));
            }
            if let Some(delay) = detail_of(tx, key, owner).and_then(|detail| detail.delay) {
                let delay = Some(Delay { mode: LockMode::Shared, ..delay });
                records::describe(tx, grant, Detail { delay, ..Detail::default() });
            }
            for lease in leases {
                sessions::begin(tx, grant, SessionLease { holder: owner.into(), ..lease });
            }
            sessions::uphold(tx, grant);
        }
        Ok(as_it_is(tx, key, owner, hands.reads.max(hands.writes)))
    }
}

/// Returns the leases of connections that keep the hold in a field, if there are any.
fn sessions_of(tx: &Tx<'_>, key: &[u8], field: &[u8]) -> Vec<SessionLease> {
    records::grant(tx, key, field).map_or_else(Vec::new, |grant| records::leases(tx).by_id(grant.number))
}

/// Returns the session lease of the hold that becomes exclusive: the requesting client's, if it has one. Otherwise the
/// first lease, unless a shared hold without a session lease may be the converted one.
fn converting_lease(tx: &Tx<'_>, leases: Vec<SessionLease>, reads: i64) -> Option<SessionLease> {
    let leased = leases.iter().fold(0_i64, |holds, lease| holds.saturating_add(lease.holds));
    let own = leases.iter().position(|lease| Some(lease.session) == tx.client());
    leases.into_iter().nth(own.or((leased >= reads).then_some(0))?)
}

/// Returns the leases of a reader that was a writer. If a connection has leases of both kinds, they are for the same
/// holds: first shared, then also exclusive, then shared again.
fn joined(mut of_reads: Vec<SessionLease>, of_writes: Vec<SessionLease>) -> Vec<SessionLease> {
    for written in of_writes {
        match of_reads.iter_mut().find(|read| read.session == written.session) {
            Some(read) => {
                read.holds = read.holds.max(written.holds);
                read.lease_ms = read.lease_ms.max(written.lease_ms);
            }
            None => of_reads.push(written),
        }
    }
    of_reads
}

fn detail_of(tx: &Tx<'_>, key: &[u8], field: &[u8]) -> Option<Detail> {
    records::grant(tx, key, field).and_then(|grant| records::detail(tx, grant.number).cloned())
}

/// Returns the present hold of an owner. A reader has a lease of its own; a writer's lease is that of the lock.
fn as_it_is(tx: &Tx<'_>, key: &[u8], field: &[u8], holds: i64) -> Granted {
    let token = records::token(tx, key, field).unwrap_or(0);
    let own = read_write::longest_lease(tx, key, field, holds).map(|deadline| deadline - tx.now().wall_ms());
    Granted { token, holds, ttl_ms: own.unwrap_or_else(|| left_ms(tx, key)), predecessor: None }
}

/// Returns the rest of the lease of a lock in milliseconds. A lock without a lease gets the default one.
fn left_ms(tx: &Tx<'_>, key: &[u8]) -> i64 {
    tx.deadline(key).map_or(super::options::DEFAULT_LEASE_MS, |deadline| deadline - tx.now().wall_ms())
}

fn announce_converted(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], grant: u64, mode: &str) {
    let text = |text: &[u8]| EventValue::Text(text.into());
    let number = EventValue::Number(i64::try_from(grant).unwrap_or(i64::MAX));
    announce(tx, key, "converted", || {
        vec![("owner", text(owner)), ("grant", number), ("mode", text(mode.as_bytes()))]
    });
}
