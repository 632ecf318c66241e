//! `LOCK.SCAN`: the keys of locks, a page at a time.

use super::channel_waiters::{MatchBudget, channel_waiters_within, listened_channels};
use super::graph::Listeners;
use super::listening::ListeningHandler;
use super::records;
use super::redisson;
use super::wait_queue::{FAIR_NAME, mode_of};
use crate::pubsub::PubSub;
use crate::spec::{
    Args, CommandError, CommandGrammar, Flags, Outcome, ParsedArgs, Row, Symbol, errors, grammar, symbols,
};
use foldhash::fast::FixedState;
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{Tx, glob};
use lockwheel_store::values::Value;
use std::collections::BTreeSet;
use std::hash::BuildHasher;

const SCAN: &CommandGrammar =
    grammar!("cursor:0.. [MATCH pattern] [OWNER owner] [STATE (HELD | WAITED)] [COUNT count:1..]");
const CURSOR: Symbol = SCAN.symbol("cursor");

symbols!(SCAN: MATCH, OWNER, WAITED, COUNT);

/// The rows of the command that also sees subscriptions.
pub(super) const LISTENING_ROWS: &[Row<ListeningHandler>] = &[Row::new(
    "lock.scan",
    -2,
    scan as ListeningHandler,
)
.flags(&[Flags::READONLY])
.categories(&["lock"])
.about(
    "lock",
    "7.2.0",
    "O(1) for every call, O(N) for a complete iteration, N the keys; with WAITED O(N log N) for every call, \
             N the keys that are waited for",
)
.summary("Iterates over the keys that are held as locks, or that have waiters, a page at a time.")
.reply("An array of two: the cursor of the next call, 0 at the end, and an array of keys.")
.options(&[&[
    ("MATCH pattern", "Only keys that match this glob pattern."),
    ("OWNER owner", "Only locks that this owner holds."),
    ("STATE", "Followed by HELD or WAITED."),
    ("HELD", "Keys that are held as locks. This is the default."),
    ("WAITED", "Keys that have waiters, whether held or free."),
    ("COUNT count", "The number of keys that a call visits, 10 by default."),
]])
.example(&["LOCK.ACQUIRE order:42 alice PX 10000", "LOCK.SCAN 0", "LOCK.SCAN 0 STATE WAITED"])
.help(&[
    "LOCK.SCAN <cursor> [MATCH <pattern>] [OWNER <owner>] [STATE HELD|WAITED] [COUNT <count>]",
    "    Iterate over the keys that are held as locks, as SCAN does. WAITED: over the keys that have",
    "    waiters, held or free. OWNER: only keys that this owner holds.",
])
.help_after("lock.info")
.grammar(SCAN)
.tips(&["nondeterministic_output"])
.errors(&["ERR invalid cursor: *", "ERR syntax error: *", "ERR value is not an integer or out of range: *"])];

/// The default number of keys that a call visits.
const COUNT_DEFAULT: usize = 10;

struct Wanted<'a> {
    count: usize,
    pattern: Option<&'a [u8]>,
    owner: Option<&'a [u8]>,
    waited: bool,
}

/// Keys, and the cursor of the next page: 0 after the last page.
type Page = (Vec<Box<[u8]>>, u64);

impl<'a> Wanted<'a> {
    fn of(options: &ParsedArgs<'a>) -> Result<Self, CommandError> {
        let count = options.integer_or(COUNT, errors::SYNTAX)?;
        Ok(Wanted {
            count: count.map_or(COUNT_DEFAULT, |count| usize::try_from(count).unwrap_or(usize::MAX)),
            pattern: options.value(MATCH),
            owner: options.value(OWNER),
            waited: options.has(WAITED),
        })
    }

    /// Whether a lock has the wanted name and holder.
    fn has(&self, key: &[u8], value: Option<&Value>) -> bool {
        let is_held_by = |owner| value.is_some_and(|value| redisson::is_held_by(value, owner));
        self.pattern.is_none_or(|pattern| glob::matches(pattern, key, false))
            && self.owner.is_none_or(is_held_by)
    }
}

fn held(tx: &Tx<'_>, cursor: u64, wanted: &Wanted<'_>) -> Page {
    let mut page = Vec::new();
    let next = tx.scan(cursor, wanted.count, &mut |key, value| {
        let is_lock = records::is_held(tx, key) || redisson::is_held_read_write(value);
        if is_lock && wanted.has(key, Some(value)) {
            page.push(key.into());
        }
    });
    (page, next)
}

/// Returns a page of the locks that clients wait for, by a hash of their names; the cursor is a position in that order.
/// So a lock that is waited for all the time is on one of the pages. O(n log n), n all of these locks.
fn waited_for(tx: &Tx<'_>, pubsub: &PubSub, cursor: u64, wanted: &Wanted<'_>) -> Page {
    let listened = listened_channels(pubsub).filter_map(redisson::lock_of_channel).map(|(key, _)| key.into());
    let mut keys: BTreeSet<Box<[u8]>> = listened.collect();
    let listeners = if keys.is_empty() { Listeners::default() } else { Listeners::of_tx(tx, None) };
    keys.extend(tx.waited_for());
    let mut budget = MatchBudget::new();
    let mut is_ahead = |(place, key): &(u64, Box<[u8]>)| {
        *place >= cursor && is_waited_for(tx, (pubsub, &listeners), key, &mut budget)
    };
    let placed = keys.into_iter().map(|key| (place(&key), key));
    let mut keys: Vec<(u64, Box<[u8]>)> = placed.filter(|placed| is_ahead(placed)).collect();
    keys.sort_unstable();
    let Some(&(last, _)) = keys.get(wanted.count.min(keys.len()).saturating_sub(1)) else {
        return (Vec::new(), 0);
    };
    // Keys at the same position come in the same page.
    let rest = keys.split_off(keys.partition_point(|(place, _)| *place <= last));
    let page = keys.into_iter().map(|(_, key)| key).filter(|key| wanted.has(key, tx.peek(key)));
    (page.collect(), rest.first().map_or(0, |(place, _)| *place))
}

/// Returns the position of a key among those that are waited for, in as many bits as a cursor has.
fn place(key: &[u8]) -> u64 {
    FixedState::with_seed(0).hash_one(key) >> 12
}

/// Whether a client waits for a lock, natively or as Redisson does. A fair lock's list, even deleted, is no lock.
fn is_waited_for(
    tx: &Tx<'_>,
    (pubsub, listeners): (&PubSub, &Listeners),
    key: &[u8],
    budget: &mut MatchBudget,
) -> bool {
    let is_queue = redisson::lock_of_queue(key).is_some();
    let waits_for_lock = |class: &str| mode_of(class).is_some() && !(is_queue && class == FAIR_NAME);
    let is_native = || tx.waiting(key).any(|waiter| waits_for_lock(waiter.class));
    let mut is_foreign = || {
        let mut listening = channel_waiters_within(pubsub, key, budget).into_iter();
        listening.any(|waiter| listeners.waits(tx.db(), key, &waiter))
    };
    !matches!(tx.peek(key), Some(Value::List(_))) && (is_native() || is_foreign())
}

fn scan(tx: &mut Tx<'_>, pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let options = SCAN.parse(args)?;
    let cursor = number::parse_i64(&args[1]).and_then(|cursor| u64::try_from(cursor).ok());
    let cursor = cursor.ok_or_else(|| options.out_of_range(CURSOR, &errors::INVALID_CURSOR))?;
    let wanted = Wanted::of(&options)?;
    let (page, next) = match wanted.waited {
        true => waited_for(tx, pubsub, cursor, &wanted),
        false => held(tx, cursor, &wanted),
    };
    reply.array(2);
    // A cursor has at most 53 bits.
    reply.bulk(next.to_string().as_bytes());
    reply.array(page.len());
    page.iter().for_each(|key| reply.bulk(key));
    Ok(())
}
