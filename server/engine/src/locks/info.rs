//! `LOCK.INFO`, which shows the holders and the waiters of a lock; and `LOCK.HELP`.

use super::full_info::{FullHolder, FullInfo, FullWaiter};
use super::graph::waiting_listeners;
use super::layouts::read_write;
use super::ledger::ReleaseCause;
use super::listening::ListeningHandler;
use super::redisson::{self, DELAY_FIELD, MODE_FIELD, WRITE_SUFFIX};
use super::snapshot::{LockHolder, LockLayout, LockMode, LockSnapshot, LockWaiter};
use super::wait_queue::mode_of;
use super::{delays, latches, rates, records, semaphores};
use crate::pubsub::PubSub;
use crate::spec::{
    Args, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row, grammar, symbols,
};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{Tx, Waiter, WaiterId};
use lockwheel_store::values::Value;

const INFO: &CommandGrammar = grammar!("key [FULL]");

symbols!(INFO: FULL);

/// The rows of the command that also sees subscriptions.
pub(super) const LISTENING_ROWS: &[Row<ListeningHandler>] =
    &[Row::new("lock.info", -2, info as ListeningHandler)
        .flags(&[Flags::READONLY])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])])
        .about(
            "lock",
            "7.2.0",
            "O(N), N the holders, the waiters and the patterns that clients are subscribed to",
        )
        .summary("Returns a lock's holders, native or of Redisson, the time that is left, and the waiters.")
        .reply(
            "A map: `mode`, `layout` and `ttl` of the lock, `holders` and `waiters`, each an \
             array of maps. `delay` only while one runs; with FULL always, perhaps null. \
             The `ttl` is in the form of PTTL. A key \
             without a lock has no holders.",
        )
        .options(&[&[(
            "FULL",
            "Adds the lease and session of each holder, the position and priority of \
             each waiter, `delay`, `grants` and `predecessor`.",
        )]])
        .example(&[
            "LOCK.ACQUIRE order:42 alice PX 10000",
            "LOCK.ACQUIRE order:42 bob PX 10000 ASYNC",
            "LOCK.INFO order:42",
        ])
        .help(&[
            "LOCK.INFO <key> [FULL]",
            "    Return the holders of the lock, the time that is left, and the waiters. FULL: also the",
            "    lease and the connection of each holder, the place and priority of each waiter, the grants,",
            "    and how the last hold ended.",
        ])
        .grammar(INFO)
        .errors(&["ERR syntax error: *"])];

fn info(tx: &mut Tx<'_>, pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let options: ParsedArgs<'_> = INFO.parse(args)?;
    let snapshot = snapshot(tx, pubsub, key);
    let full = options.has(FULL).then(|| full(tx, key, &snapshot));
    snapshot.write(full.as_ref(), reply);
    Ok(())
}

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::help_command("lock.help", 1)
    .flags(&[Flags::LOADING, Flags::STALE])
    .categories(&["lock"])
    .about("lock", "7.2.0", "O(1)")
    .summary("Explains the lock commands.")];

/// Returns the lock as its key shows it, with its waiters; subscribers come after native waiters. O(n), n the holders,
/// the waiters, the subscribed patterns and, if clients listen, the entries of the history.
pub(crate) fn snapshot(tx: &mut Tx<'_>, pubsub: &PubSub, key: &[u8]) -> LockSnapshot {
    let (mut mode, mut layout) = tx.peek(key).map_or((LockMode::Free, LockLayout::None), redisson::kind);
    let mut fields = tx.peek(key).map_or_else(Vec::new, fields);
    if is_no_lock(tx, key) {
        (mode, layout, fields) = (LockMode::None, LockLayout::None, Vec::new());
    }
    let ttl_ms = tx.deadline(key).map(|deadline| deadline - tx.now().wall_ms());
    let holders = fields.into_iter().map(|(field, holds)| holder(tx, key, layout, &field, holds)).collect();
    let native = tx.waiting(key).filter(|waiter| is_shown(waiter)).map(|waiter| LockWaiter {
        owner: (!waiter.label.is_empty()).then(|| waiter.label.to_vec()),
        mode: mode_of(waiter.class),
        is_native: true,
        client: tx.client_of(waiter.id),
    });
    let listening = waiting_listeners(tx, pubsub, key).into_iter().map(|waiter| LockWaiter {
        owner: waiter.owner.map(<[u8]>::into_vec),
        mode: None,
        is_native: false,
        client: waiter.client,
    });
    let waiters = native.chain(listening);
    let delay_ms = delays::left_ms(tx, key);
    LockSnapshot { mode, layout, ttl_ms, delay_ms, holders, waiters: waiters.collect() }
}

/// Returns the further facts of `FULL` about this lock. O(n log n), n the holders, their leases and the waiters.
fn full(tx: &mut Tx<'_>, key: &[u8], snapshot: &LockSnapshot) -> FullInfo {
    let predecessor = records::last_cause(tx, key).map(ReleaseCause::name);
    let native = native_waiters(tx, key);
    let is_reader = |mode| (snapshot.layout, mode) == (LockLayout::ReadWrite, LockMode::Shared);
    let holders = snapshot.holders.iter().map(|holder| {
        let own = || read_write::longest_lease(tx, key, &holder.owner, holder.holds);
        let own_ms = if is_reader(holder.mode) { own() } else { None };
        let own_ms = own_ms.map(|deadline| deadline - tx.now().wall_ms());
        let lease = holder.grant.and_then(|grant| records::leases(tx).get(grant));
        FullHolder { ttl_ms: own_ms.or(snapshot.ttl_ms), session: lease.map(|lease| lease.session) }
    });
    let waiters = snapshot.waiters.iter().enumerate().map(|(at, waiter)| {
        let Some(id) = native.get(at) else { return FullWaiter::default() };
        let name = waiter.owner.as_deref().unwrap_or_default();
        let place = tx.waiting_as(key, name).find(|(_, other)| other == id).map(|(place, _)| place);
        FullWaiter { position: Some(at as u64 + 1), priority: place.map(|place| place.rank.saturating_neg()) }
    });
    FullInfo { holders: holders.collect(), waiters: waiters.collect(), predecessor }
}

fn native_waiters(tx: &Tx<'_>, key: &[u8]) -> Vec<WaiterId> {
    tx.waiting(key).filter(|waiter| is_shown(waiter)).map(|waiter| waiter.id).collect()
}

fn is_shown(waiter: &Waiter) -> bool {
    !waiter.label.is_empty() || NAMELESS.contains(&waiter.class)
}

/// The classes whose waiters need no name.
const NAMELESS: [&str; 2] = [latches::CLASS, rates::CLASS];

/// Whether a key is known to hold a semaphore, a latch or a rate, and no lock.
fn is_no_lock(tx: &Tx<'_>, key: &[u8]) -> bool {
    if tx.marked(key).is_some() {
        return false;
    }
    match tx.peek(key) {
        Some(Value::Str(text)) if text.to_i64().is_some() => {
            let classes = [semaphores::CLASS, latches::CLASS];
            semaphores::is_known(tx, key) || tx.waiting(key).any(|waiter| classes.contains(&waiter.class))
        }
        Some(Value::Hash(hash)) => redisson::RATE_FIELDS[..2].iter().all(|field| hash.contains(field)),
        _ => false,
    }
}

fn holder(tx: &Tx<'_>, key: &[u8], layout: LockLayout, field: &[u8], holds: i64) -> LockHolder {
    let (owner, mode) = match (layout, field.strip_suffix(WRITE_SUFFIX)) {
        (LockLayout::ReadWrite, Some(writer)) => (writer, LockMode::Exclusive),
        (LockLayout::ReadWrite, None) => (field, LockMode::Shared),
        _ => (field, LockMode::Exclusive),
    };
    let grant = records::grant(tx, key, field);
    let number = grant.map(|grant| grant.number);
    let detail = number.and_then(|number| records::detail(tx, number));
    LockHolder {
        owner: owner.to_vec(),
        mode,
        holds,
        is_native: grant.is_some_and(|grant| grant.native),
        grant: number,
        counter: records::token(tx, key, field).filter(|token| Some(*token) != number),
        data: detail.and_then(|detail| detail.data.as_deref()).map(<[u8]>::to_vec),
        delay_ms: detail.and_then(|detail| detail.delay).map(|delay| delay.ms),
    }
}

/// Returns the owners' fields and hold counts: those of Redisson's hash except its mode, or the text of a string.
fn fields(value: &Value) -> Vec<(Vec<u8>, i64)> {
    match value {
        Value::Hash(hash) => hash
            .iter()
            .filter(|(owner, _)| *owner != MODE_FIELD && redisson::owner_of(owner) != DELAY_FIELD)
            .map(|(owner, holds)| (owner.to_vec(), number::parse_i64(holds).unwrap_or(0)))
            .collect(),
        Value::Str(text) if *text.text() == *DELAY_FIELD => Vec::new(),
        Value::Str(text) => vec![(text.text().to_vec(), 1)],
        _ => Vec::new(),
    }
}
