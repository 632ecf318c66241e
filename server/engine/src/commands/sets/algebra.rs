//! Intersections, unions and differences of sets, with the observable effects of Redis' algorithms: the order of an
//! intersection, the encoding of a stored result.

use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::allocation::{self, SmallBlocks};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::{Event, Tx, events};
use lockwheel_store::values::{Encodings, Set, Text, Value};

const SOURCE: KeyFlags = KeyFlags::of(&[KeyFlags::RO, KeyFlags::ACCESS]);
const SOURCES: &[KeySpec] = &[KeySpec::range(1, -1, 1, &[SOURCE])];
const STORES: &[KeySpec] =
    &[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE]), KeySpec::range(2, -1, 1, &[SOURCE])];
const WRITES: Flags = Flags::of(&[Flags::WRITE, Flags::DENYOOM]);
const WHOLE: &str = "O(N) where N is the total number of elements in all given sets.";
const INTERSECTION: &str =
    "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("sinter", -2, sinter as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["set"])
        .keys(SOURCES)
        .about("set", "1.0.0", INTERSECTION)
        .summary("The members that all of several sets have.")
        .syntax("key [key ...]")
        .tips(&["nondeterministic_output_order"]),
    Row::new("sinterstore", -3, sinterstore as DataHandler)
        .flags(&[WRITES])
        .categories(&["set"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE]), KeySpec::range(2, -1, 1, &[SOURCE])])
        .about("set", "1.0.0", INTERSECTION)
        .summary("Stores the members that all of several sets have, and tells how many.")
        .syntax("destination key [key ...]"),
    Row::new("sintercard", -3, sintercard as DataHandler)
        .flags(&[Flags::READONLY, Flags::MOVABLEKEYS])
        .categories(&["set"])
        .keys(&[KeySpec::counted(1, &[SOURCE])])
        .about("set", "7.0.0", INTERSECTION)
        .summary("Counts the members that all of several sets have, up to a limit.")
        .syntax("numkeys key [key ...] [LIMIT limit]")
        .errors(&[
            "ERR numkeys should be greater than 0",
            "ERR Number of keys can't be greater than number of args",
            "ERR LIMIT can't be negative",
            "ERR syntax error",
        ]),
    Row::new("sunion", -2, sunion as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["set"])
        .keys(SOURCES)
        .about("set", "1.0.0", WHOLE)
        .summary("The members that any of several sets has.")
        .syntax("key [key ...]")
        .tips(&["nondeterministic_output_order"]),
    Row::new("sunionstore", -3, sunionstore as DataHandler)
        .flags(&[WRITES])
        .categories(&["set"])
        .keys(STORES)
        .about("set", "1.0.0", WHOLE)
        .summary("Stores the members that any of several sets has, and tells how many.")
        .syntax("destination key [key ...]"),
    Row::new("sdiff", -2, sdiff as DataHandler)
        .flags(&[Flags::READONLY])
        .categories(&["set"])
        .keys(SOURCES)
        .about("set", "1.0.0", WHOLE)
        .summary("The members of the first set that no other has.")
        .syntax("key [key ...]")
        .tips(&["nondeterministic_output_order"]),
    Row::new("sdiffstore", -3, sdiffstore as DataHandler)
        .flags(&[WRITES])
        .categories(&["set"])
        .keys(STORES)
        .about("set", "1.0.0", WHOLE)
        .summary("Stores the members of the first set that no other has, and tells how many.")
        .syntax("destination key [key ...]"),
];

/// The sets of several keys, `None` where there is no such key.
type Sets<'a> = [Option<&'a Set>];

/// The members that all sets have, computed lazily, in the order of the first of the smallest sets.
fn intersection<'a>(sets: &Sets<'a>) -> impl Iterator<Item = Text<'a>> + use<'a> {
    let all: Option<Vec<&'a Set>> = sets.iter().copied().collect();
    let mut all = all.unwrap_or_default();
    all.sort_by_key(|set| set.len());
    let smallest = all.first().copied();
    // A request may name a key twice.
    all.retain(|set| smallest.is_some_and(|smallest| !std::ptr::eq(*set, smallest)));
    smallest.into_iter().flatten().filter(move |member| all.iter().all(|set| set.contains(member)))
}

/// Adds copies of members. Unwinds if there is no memory for them.
fn copy<'a>(members: impl Iterator<Item = Text<'a>>, enc: &Encodings, into: &mut Set) {
    let mut blocks = SmallBlocks::default();
    for member in members {
        blocks.count(member.len());
        into.add(&member, enc);
    }
}

fn union(sets: &Sets<'_>, enc: &Encodings) -> Set {
    let mut result = Set::new();
    copy(sets.iter().flatten().copied().flatten(), enc, &mut result);
    result
}

/// The members of the first set that no other has, found by the cheaper of two algorithms.
fn difference(sets: &Sets<'_>, enc: &Encodings) -> Set {
    let mut result = Set::new();
    let Some((Some(first), others)) = sets.split_first() else { return result };
    let others: Vec<&Set> = others.iter().copied().flatten().collect();
    if others.iter().any(|set| std::ptr::eq(*set, *first)) {
        return result;
    }
    let members: usize = first.len() + others.iter().map(|set| set.len()).sum::<usize>();
    // The look-up of members is cheaper than adding and removing them.
    if first.len() * (others.len() + 1) / 2 <= members {
        difference_by_lookup(first, others, enc, &mut result);
    } else {
        difference_by_removal(first, &others, enc, &mut result);
    }
    result
}

fn difference_by_lookup(first: &Set, mut others: Vec<&Set>, enc: &Encodings, result: &mut Set) {
    // The largest set is the most likely to contain a member.
    others.sort_by_key(|set| std::cmp::Reverse(set.len()));
    copy(first.iter().filter(|member| !others.iter().any(|set| set.contains(member))), enc, result);
}

fn difference_by_removal(first: &Set, others: &[&Set], enc: &Encodings, result: &mut Set) {
    copy(first.iter(), enc, result);
    for member in others.iter().copied().flatten() {
        if result.is_empty() {
            break;
        }
        result.remove(&member);
    }
}

fn sinter(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let members = allocation::collect(intersection(&tx.read_all::<Set>(args.from(1))?));
    reply.set(members.len());
    members.iter().for_each(|member| reply.bulk(member));
    Ok(())
}

fn sinterstore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let combine = |sets: &Sets<'_>, enc: &Encodings| {
        let mut result = Set::new();
        copy(intersection(sets), enc, &mut result);
        result
    };
    store(tx, args, combine, events::SINTERSTORE, reply)
}

fn sintercard(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (keys, limit) = counted_keys(args)?;
    let sets = tx.read_all::<Set>(keys)?;
    reply.integer(intersection(&sets).take(limit).count() as i64);
    Ok(())
}

/// The keys of SINTERCARD and its limit. 0 means no limit.
fn counted_keys<'a>(args: Args<'a>) -> Result<(&'a [&'a [u8]], usize), CommandError> {
    let unsigned =
        |index: usize| args.get(index).and_then(number::parse_i64).and_then(|n| usize::try_from(n).ok());
    let keys = unsigned(1).filter(|&keys| keys > 0).ok_or(errors::NUMKEYS_NOT_POSITIVE)?;
    let Some((keys, _)) = args.from(2).split_at_checked(keys) else { return Err(errors::NUMKEYS_TOO_LARGE) };
    let mut limit = 0;
    for at in (2 + keys.len()..args.len()).step_by(2) {
        if !args.is(at, "limit") || at + 1 == args.len() {
            return Err(errors::SYNTAX);
        }
        limit = unsigned(at + 1).ok_or(errors::LIMIT_NEGATIVE)?;
    }
    Ok((keys, if limit == 0 { usize::MAX } else { limit }))
}

fn sunion(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    combined(tx, args, union, reply)
}

fn sunionstore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    store(tx, args, union, events::SUNIONSTORE, reply)
}

fn sdiff(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    combined(tx, args, difference, reply)
}

fn sdiffstore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    store(tx, args, difference, events::SDIFFSTORE, reply)
}

fn combine(
    tx: &mut Tx<'_>,
    keys: &[&[u8]],
    how: impl Fn(&Sets<'_>, &Encodings) -> Set,
) -> Result<Set, CommandError> {
    let enc = tx.encodings().clone();
    let sets = tx.read_all::<Set>(keys)?;
    Ok(allocation::contain(|| how(&sets, &enc))?)
}

fn combined(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    how: impl Fn(&Sets<'_>, &Encodings) -> Set,
    reply: &mut dyn Reply,
) -> Outcome {
    let result = combine(tx, args.from(1), how)?;
    reply.set(result.len());
    result.iter().for_each(|member| reply.bulk(&member));
    Ok(())
}

/// Stores the result of combining the sets in argument 1. An empty result deletes the key.
fn store(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    how: impl Fn(&Sets<'_>, &Encodings) -> Set,
    event: Event,
    reply: &mut dyn Reply,
) -> Outcome {
    let (destination, result) = (&args[1], combine(tx, args.from(2), how)?);
    let len = result.len();
    if len == 0 {
        tx.delete(destination);
    } else {
        tx.set(destination, Value::Set(result), false);
        tx.changed(destination, event);
    }
    reply.integer(len as i64);
    Ok(())
}
