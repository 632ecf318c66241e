//! The commands ZUNION, ZINTER and ZDIFF, their storing forms, and ZINTERCARD.

use super::combine::{Weighted, difference, intersection, union};
use super::request::{AlgebraOptions, Takes, keys};
use super::source::{Pair, Source};
use crate::commands::sorted_sets::pairs::{write_members, write_scored};
use crate::commands::sorted_sets::store::store;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{Event, Tx, events};
use lockwheel_store::values::{ZSet, zset};

const SOURCE: KeyFlags = KeyFlags::of(&[KeyFlags::RO, KeyFlags::ACCESS]);
const SOURCES: &[KeySpec] = &[KeySpec::counted(1, &[SOURCE])];
const STORES: &[KeySpec] =
    &[KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE]), KeySpec::counted(2, &[SOURCE])];

const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
const NO_KEY: &str = "ERR at least 1 input key is needed for 'command' command";
const NOT_A_WEIGHT: &str = "ERR weight value is not a float";
const WEIGHTED: &[&str] = &["ERR syntax error", NOT_AN_INTEGER, NO_KEY, NOT_A_WEIGHT];
const UNWEIGHTED: &[&str] = &["ERR syntax error", NOT_AN_INTEGER, NO_KEY];

const WEIGHTED_SYNTAX: &str = "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE (aggregate: SUM | MIN | \
                               MAX)] [WITHSCORES]";
const WEIGHTED_STORE_SYNTAX: &str = "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE \
                                     (aggregate: SUM | MIN | MAX)]";

const OF_UNION: &str = "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, and M being the \
                        number of elements in the resulting sorted set.";
const OF_UNION_STORED: &str = "O(N)+O(M log(M)) with N being the sum of the sizes of the input sorted sets, and M \
                               being the number of elements in the resulting sorted set.";
const OF_INTERSECTION: &str = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K being the \
                               number of input sorted sets and M being the number of elements in the resulting \
                               sorted set.";
const OF_DIFFERENCE: &str = "O(L + (N-K)log(N)) worst case where L is the total number of elements in all the sets, N \
                             is the size of the first set, and K is the size of the result set.";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    reads("zunion", zunion)
        .about("sorted-set", "6.2.0", OF_UNION)
        .summary("Returns the members that any of several sorted sets has, with combined scores.")
        .syntax(WEIGHTED_SYNTAX)
        .errors(WEIGHTED),
    reads("zinter", zinter)
        .about("sorted-set", "6.2.0", OF_INTERSECTION)
        .summary("Returns the members that all of several sorted sets have, with combined scores.")
        .syntax(WEIGHTED_SYNTAX)
        .errors(WEIGHTED),
    reads("zdiff", zdiff)
        .about("sorted-set", "6.2.0", OF_DIFFERENCE)
        .summary("Returns the members of the first sorted set that no other has.")
        .syntax("numkeys key [key ...] [WITHSCORES]")
        .errors(UNWEIGHTED),
    stores("zunionstore", zunionstore)
        .about("sorted-set", "2.0.0", OF_UNION_STORED)
        .summary("Stores the members that any of several sorted sets has, and tells how many.")
        .syntax(WEIGHTED_STORE_SYNTAX)
        .errors(WEIGHTED),
    stores("zinterstore", zinterstore)
        .about("sorted-set", "2.0.0", OF_INTERSECTION)
        .summary("Stores the members that all of several sorted sets have, and tells how many.")
        .syntax(WEIGHTED_STORE_SYNTAX)
        .errors(WEIGHTED),
    stores("zdiffstore", zdiffstore)
        .about("sorted-set", "6.2.0", OF_DIFFERENCE)
        .summary("Stores the members of the first sorted set that no other has, and tells how many.")
        .syntax("destination numkeys key [key ...]")
        .errors(UNWEIGHTED),
    reads("zintercard", zintercard)
        .about(
            "sorted-set",
            "7.0.0",
            "O(N*K) worst case with N being the smallest input sorted set, K being the number of input sorted sets.",
        )
        .summary("Counts the members that all of several sorted sets have, up to a limit.")
        .syntax("numkeys key [key ...] [LIMIT limit]")
        .errors(&["ERR syntax error", NOT_AN_INTEGER, NO_KEY, "ERR LIMIT can't be negative"]),
];

const fn reads(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -3, handler)
        .flags(&[Flags::READONLY, Flags::MOVABLEKEYS])
        .categories(&["sortedset"])
        .keys(SOURCES)
}

const fn stores(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -4, handler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLEKEYS])
        .categories(&["sortedset"])
        .keys(STORES)
}

/// The operation that combines sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    operation: Operation,
    name: &'static str,
    numkeys: usize,
}

impl Asked {
    fn takes(self) -> Takes {
        Takes {
            weights: self.operation != Operation::Difference,
            with_scores: self.numkeys == 1,
            limit: false,
        }
    }

    fn run<'s>(
        self,
        tx: &'s mut Tx<'_>,
        args: Args<'_>,
    ) -> Result<(Vec<Pair<'s>>, AlgebraOptions), CommandError> {
        allocation::contain(|| self.combine(tx, args))?
    }

    /// As [`run`](Self::run), but unwinds if there is no memory for the members.
    fn combine<'s>(
        self,
        tx: &'s mut Tx<'_>,
        args: Args<'_>,
    ) -> Result<(Vec<Pair<'s>>, AlgebraOptions), CommandError> {
        let seed = tx.encodings().seed;
        let (sources, options) = read(tx, args, self.numkeys, self.name, self.takes())?;
        let mut pairs = match self.operation {
            Operation::Union => union(present(sources, &options), options.aggregate, seed),
            Operation::Intersection => {
                let mut pairs = Vec::new();
                if sources.iter().all(Option::is_some) {
                    intersection(present(sources, &options), options.aggregate, seed, |pair| {
                        allocation::push(&mut pairs, pair);
                        true
                    });
                }
                pairs
            }
            Operation::Difference => {
                let mut sources = sources.into_iter();
                let first = sources.next().flatten();
                first.map_or_else(Vec::new, |first| difference(first, sources.flatten().collect(), seed))
            }
        };
        zset::sort(&mut pairs);
        Ok((pairs, options))
    }

    fn answer(self, tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
        let (pairs, options) = self.run(tx, args)?;
        if options.with_scores {
            write_scored(pairs.into_iter(), reply);
        } else {
            write_members(pairs.into_iter(), reply);
        }
        Ok(())
    }

    fn store(self, tx: &mut Tx<'_>, args: Args<'_>, event: Event, reply: &mut dyn Reply) -> Outcome {
        let encodings = tx.encodings().clone();
        let (pairs, _) = self.run(tx, args)?;
        let result = allocation::contain(|| ZSet::of_sorted(&pairs, &encodings))?;
        reply.integer(store(tx, &args[1], result, event) as i64);
        Ok(())
    }
}

/// Reads the values of the request's keys (`None` for an absent key), and then its options. This is Redis' order, which
/// refuses a key of another type before a wrong option.
fn read<'s>(
    tx: &'s mut Tx<'_>,
    args: Args<'_>,
    numkeys: usize,
    name: &str,
    takes: Takes,
) -> Result<(Vec<Option<Source<'s>>>, AlgebraOptions), CommandError> {
    let (keys, options_at) = keys(args, numkeys, name)?;
    let sources = tx.read_each(keys, Source::of)?;
    let options = AlgebraOptions::parse(args, options_at, keys.len(), takes)?;
    Ok((sources, options))
}

/// The sources that exist, each with its weight.
fn present<'s>(sources: Vec<Option<Source<'s>>>, options: &AlgebraOptions) -> Vec<Weighted<'s>> {
    let weight = |at: usize| options.weights.get(at).copied().unwrap_or(1.0);
    sources.into_iter().enumerate().filter_map(|(at, source)| Some((source?, weight(at)))).collect()
}

fn zunion(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    Asked { operation: Operation::Union, name: "zunion", numkeys: 1 }.answer(tx, args, reply)
}

fn zinter(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    Asked { operation: Operation::Intersection, name: "zinter", numkeys: 1 }.answer(tx, args, reply)
}

fn zdiff(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    Asked { operation: Operation::Difference, name: "zdiff", numkeys: 1 }.answer(tx, args, reply)
}

fn zunionstore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let asked = Asked { operation: Operation::Union, name: "zunionstore", numkeys: 2 };
    asked.store(tx, args, events::ZUNIONSTORE, reply)
}

fn zinterstore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let asked = Asked { operation: Operation::Intersection, name: "zinterstore", numkeys: 2 };
    asked.store(tx, args, events::ZINTERSTORE, reply)
}

fn zdiffstore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let asked = Asked { operation: Operation::Difference, name: "zdiffstore", numkeys: 2 };
    asked.store(tx, args, events::ZDIFFSTORE, reply)
}

fn zintercard(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let seed = tx.encodings().seed;
    let takes = Takes { weights: false, with_scores: false, limit: true };
    let (sources, options) = read(tx, args, 1, "zintercard", takes)?;
    let mut count = 0;
    if sources.iter().all(Option::is_some) {
        intersection(present(sources, &options), options.aggregate, seed, |_| {
            count += 1;
            count != options.limit
        });
    }
    reply.integer(count as i64);
    Ok(())
}
