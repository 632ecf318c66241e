//! The commands that add and remove members of one sorted set, and change their scores.

use super::bounds::{Members, Scores};
use super::policy::{AddOptions, Fate, Policy};
use crate::commands::ranges::index_range;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Edit, Event, Tx, events};
use lockwheel_store::values::ZSet;
use std::ops::Range;

const DELETES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])];

const REMOVAL_COST: &str = "O(log(N)+M) with N being the number of elements in the sorted set and M the \
    number of elements removed by the operation.";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("zadd", -4, zadd as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["sortedset"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
        .about(
            "sorted-set",
            "1.2.0",
            "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
        )
        .summary("Adds members with scores to a sorted set, or changes the scores of members.")
        .history(&[
            ("2.4.0", "Accepts multiple elements."),
            ("3.0.2", "Added the `XX`, `NX`, `CH` and `INCR` options."),
            ("6.2.0", "Added the `GT` and `LT` options."),
        ])
        .syntax(
            "key [condition@3.0.2: NX | XX] [comparison@6.2.0: GT | LT] [CH=change@3.0.2] \
             [INCR=increment@3.0.2] (score member) ...",
        )
        .errors(&[
            "ERR syntax error",
            "ERR XX and NX options at the same time are not compatible",
            "ERR GT, LT, and/or NX options at the same time are not compatible",
            "ERR INCR option supports a single increment-element pair",
            "ERR value is not a valid float",
            "ERR resulting score is not a number (NaN)",
        ]),
    Row::new("zincrby", 4, zincrby as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["sortedset"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
        .about("sorted-set", "1.2.0", "O(log(N)) where N is the number of elements in the sorted set.")
        .summary("Adds to the score of a member and returns the sum; an absent member counts as 0.")
        .syntax("key increment member")
        .errors(&[
            "ERR syntax error",
            "ERR value is not a valid float",
            "ERR resulting score is not a number (NaN)",
        ]),
    Row::new("zrem", -3, zrem as DataHandler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["sortedset"])
        .keys(DELETES)
        .about(
            "sorted-set",
            "1.2.0",
            "O(M*log(N)) with N being the number of elements in the sorted set and M the number of elements \
             to be removed.",
        )
        .summary("Removes members of a sorted set and tells how many there were.")
        .history(&[("2.4.0", "Accepts multiple elements.")])
        .syntax("key member [member ...]"),
    remove_row("zremrangebyrank", zremrangebyrank)
        .about("sorted-set", "2.0.0", REMOVAL_COST)
        .summary("Removes the members from one rank to another and tells how many there were.")
        .syntax("key start stop")
        .errors(&["ERR value is not an integer or out of range"]),
    remove_row("zremrangebyscore", zremrangebyscore)
        .about("sorted-set", "1.2.0", REMOVAL_COST)
        .summary("Removes the members with scores in a range and tells how many there were.")
        .syntax("key min max")
        .errors(&["ERR min or max is not a float"]),
    remove_row("zremrangebylex", zremrangebylex)
        .about("sorted-set", "2.8.9", REMOVAL_COST)
        .summary("Removes the members in a range of their bytes and tells how many there were.")
        .syntax("key min:string max:string")
        .errors(&["ERR min or max not valid string range item"]),
];

const fn remove_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, 4, handler).flags(&[Flags::WRITE]).categories(&["sortedset"]).keys(DELETES)
}

/// Reads the options of ZADD. Returns the place of the first pair, and the options.
fn parse_zadd(args: Args<'_>) -> Result<(usize, AddOptions), CommandError> {
    let (mut options, mut at) = (AddOptions::default(), 2);
    // A score begins with a digit or a sign, unless it is infinite.
    let is_word = |at| args.get(at).is_some_and(|word| word.first().is_some_and(u8::is_ascii_alphabetic));
    while is_word(at) && (options.read_common(args, at) || options.read_zadd(args, at)) {
        at += 1;
    }
    let words = args.len() - at;
    if words == 0 || !words.is_multiple_of(2) {
        return Err(errors::SYNTAX);
    }
    options.policy.check()?;
    if options.policy.incr && words > 2 {
        return Err(errors::INCR_OF_MANY);
    }
    Ok((at, options))
}

fn zadd(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (first, AddOptions { policy, ch }) = parse_zadd(args)?;
    if policy.incr {
        let score = args.float(first)?;
        return add_to_score(tx, &args[1], score, &args[first + 1], policy, reply);
    }
    let pairs = (first..args.len()).step_by(2).map(|at| Ok((args.float(at)?, args.all()[at + 1])));
    // The scores are parsed twice, to avoid a list of them. All must be valid before the first one is set.
    pairs.clone().try_for_each(|pair: Result<_, CommandError>| pair.map(drop))?;
    let pairs = pairs.map(Result::unwrap_or_default);
    let changed = add(tx, &args[1], pairs, policy)?;
    reply.integer(changed.counted(ch));
    Ok(())
}

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commands) struct Changed {
    added: i64,
    updated: i64,
}

impl Changed {
    /// The reply of ZADD, with CH (`updated_too`) or without.
    pub(in crate::commands) fn counted(self, updated_too: bool) -> i64 {
        if updated_too { self.added + self.updated } else { self.added }
    }
}

/// Gives members scores, none NaN, as far as the policy allows, with the event. Fails if the key holds another type.
pub(in crate::commands) fn add<'a>(
    tx: &mut Tx<'_>,
    key: &[u8],
    pairs: impl ExactSizeIterator<Item = (f64, &'a [u8])> + Clone,
    policy: Policy,
) -> Result<Changed, CommandError> {
    let mut changed = Changed::default();
    if policy.xx && !tx.exists(key) {
        return Ok(changed);
    }
    let mut set = tx.write_or_new::<ZSet>(key)?;
    // An existing set becomes a large one only if a long member is added.
    let longest =
        if set.value.is_empty() { pairs.clone().map(|(_, member)| member.len()).max() } else { None };
    set.value.expect(pairs.len(), longest.unwrap_or(0), set.encodings);
    for (score, member) in pairs {
        match policy.put(&mut set, member, score)? {
            Fate::Added(_) => changed.added += 1,
            Fate::Updated(_) => changed.updated += 1,
            Fate::Refused | Fate::Same(_) => {}
        }
    }
    if changed.added + changed.updated > 0 {
        tx.changed(key, events::ZADD);
    }
    Ok(changed)
}

fn zincrby(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    // Redis parses ZINCRBY like ZADD: an increment that is the name of an option is read as that option.
    let (first, AddOptions { mut policy, .. }) = parse_zadd(args)?;
    policy.incr = true;
    let increment = args.float(first)?;
    add_to_score(tx, &args[1], increment, &args[first + 1], policy, reply)
}

fn add_to_score(
    tx: &mut Tx<'_>,
    key: &[u8],
    increment: f64,
    member: &[u8],
    policy: Policy,
    reply: &mut dyn Reply,
) -> Outcome {
    if policy.xx && !tx.exists(key) {
        reply.null();
        return Ok(());
    }
    let mut set = tx.write_or_new::<ZSet>(key)?;
    let longest = if set.value.is_empty() { member.len() } else { 0 };
    set.value.expect(1, longest, set.encodings);
    match policy.put(&mut set, member, increment)? {
        Fate::Refused => reply.null(),
        Fate::Same(score) => reply.double(score),
        Fate::Added(score) | Fate::Updated(score) => {
            tx.changed(key, events::ZINCR);
            reply.double(score);
        }
    }
    Ok(())
}

fn zrem(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let mut removed = 0;
    if let Some(Edit { value: set, .. }) = tx.write::<ZSet>(&args[1])? {
        removed = args.from(2).iter().filter(|member| set.remove(member).is_some()).count();
        let empty = set.is_empty();
        told(tx, &args[1], events::ZREM, removed, empty);
    }
    reply.integer(removed as i64);
    Ok(())
}

fn zremrangebyrank(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (start, stop) = (args.int(2)?, args.int(3)?);
    remove_range(tx, &args[1], events::ZREMRANGEBYRANK, |set| index_range(start, stop, set.len()), reply)
}

fn zremrangebyscore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let scores = Scores::parse(args, 2, 3)?;
    remove_range(tx, &args[1], events::ZREMRANGEBYSCORE, |set| scores.ranks(set), reply)
}

fn zremrangebylex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let members = Members::parse(args, 2, 3)?;
    remove_range(tx, &args[1], events::ZREMRANGEBYLEX, |set| members.ranks(set), reply)
}

fn remove_range(
    tx: &mut Tx<'_>,
    key: &[u8],
    event: Event,
    ranks: impl Fn(&ZSet) -> Range<usize>,
    reply: &mut dyn Reply,
) -> Outcome {
    let mut removed = 0;
    if let Some(Edit { value: set, .. }) = tx.write::<ZSet>(key)? {
        removed = set.remove_range(ranks(set));
        let empty = set.is_empty();
        told(tx, key, event, removed, empty);
    }
    reply.integer(removed as i64);
    Ok(())
}

/// Reports that `removed` members were removed, if any were.
fn told(tx: &mut Tx<'_>, key: &[u8], event: Event, removed: usize, empty: bool) {
    if removed > 0 {
        tx.changed(key, event);
        if empty {
            tx.delete(key);
        }
    }
}
