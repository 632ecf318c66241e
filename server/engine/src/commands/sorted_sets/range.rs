//! The commands that return, or store, a range of members.

use super::bounds::{Members, Scores};
use super::pairs::{Pairs, write_members, write_scored};
use super::store::store;
use crate::commands::ranges::index_range;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_resp::allocation::{self, SmallBlocks};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::ZSet;
use std::ops::Range;

const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];

const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
const NOT_A_FLOAT: &str = "ERR min or max is not a float";
const NOT_A_STRING: &str = "ERR min or max not valid string range item";
const LIMIT_BY_RANK: &str =
    "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX";
const SCORES_BY_LEX: &str = "ERR syntax error, WITHSCORES not supported in combination with BYLEX";
const BY_RANK_COST: &str = "O(log(N)+M) with N being the number of elements in the sorted set and M the \
    number of elements returned.";
const BY_LIMIT_COST: &str = "O(log(N)+M) with N being the number of elements in the sorted set and M the \
    number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with \
    LIMIT), you can consider it O(log(N)).";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    row("zrange", zrange)
        .about("sorted-set", "1.2.0", BY_RANK_COST)
        .summary("Returns the members in a range of ranks, scores or bytes, lowest first or highest first.")
        .history(&[("6.2.0", "Added the `REV`, `BYSCORE`, `BYLEX` and `LIMIT` options.")])
        .syntax(
            "key start:string stop:string [sortby@6.2.0: BYSCORE | BYLEX] [REV@6.2.0] \
             [LIMIT (offset_count@6.2.0: offset count)] [WITHSCORES]",
        )
        .errors(&[
            "ERR syntax error",
            NOT_AN_INTEGER,
            NOT_A_FLOAT,
            NOT_A_STRING,
            LIMIT_BY_RANK,
            SCORES_BY_LEX,
        ]),
    row("zrevrange", zrevrange)
        .about("sorted-set", "1.2.0", BY_RANK_COST)
        .summary("Returns the members in a range of ranks, highest first.")
        .deprecated("6.2.0", "`ZRANGE` with the `REV` argument")
        .syntax("key start stop [WITHSCORES]")
        .errors(&["ERR syntax error", NOT_AN_INTEGER, LIMIT_BY_RANK]),
    row("zrangebyscore", zrangebyscore)
        .about("sorted-set", "1.0.5", BY_LIMIT_COST)
        .summary("Returns the members with scores in a range, lowest first.")
        .history(&[("2.0.0", "Added the `WITHSCORES` modifier.")])
        .deprecated("6.2.0", "`ZRANGE` with the `BYSCORE` argument")
        .syntax("key min max [WITHSCORES@2.0.0] [LIMIT offset count]")
        .errors(&["ERR syntax error", NOT_AN_INTEGER, NOT_A_FLOAT]),
    row("zrevrangebyscore", zrevrangebyscore)
        .about("sorted-set", "2.2.0", BY_LIMIT_COST)
        .summary("Returns the members with scores in a range, highest first.")
        .history(&[("2.1.6", "`min` and `max` can be exclusive.")])
        .deprecated("6.2.0", "`ZRANGE` with the `REV` and `BYSCORE` arguments")
        .syntax("key max min [WITHSCORES] [LIMIT offset count]")
        .errors(&["ERR syntax error", NOT_AN_INTEGER, NOT_A_FLOAT]),
    row("zrangebylex", zrangebylex)
        .about("sorted-set", "2.8.9", BY_LIMIT_COST)
        .summary("Returns the members in a range of their bytes.")
        .deprecated("6.2.0", "`ZRANGE` with the `BYLEX` argument")
        .syntax("key min:string max:string [LIMIT offset count]")
        .errors(&["ERR syntax error", NOT_AN_INTEGER, NOT_A_STRING, SCORES_BY_LEX]),
    row("zrevrangebylex", zrevrangebylex)
        .about("sorted-set", "2.8.9", BY_LIMIT_COST)
        .summary("Returns the members in a range of their bytes, last first.")
        .deprecated("6.2.0", "`ZRANGE` with the `REV` and `BYLEX` arguments")
        .syntax("key max:string min:string [LIMIT offset count]")
        .errors(&["ERR syntax error", NOT_AN_INTEGER, NOT_A_STRING, SCORES_BY_LEX]),
    Row::new("zrangestore", -5, zrangestore as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["sortedset"])
        .keys(&[
            KeySpec::one(1, &[KeyFlags::OW, KeyFlags::UPDATE]),
            KeySpec::one(2, &[KeyFlags::RO, KeyFlags::ACCESS]),
        ])
        .about(
            "sorted-set",
            "6.2.0",
            "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements \
             stored into the destination key.",
        )
        .summary("Stores the members in a range of ranks, scores or bytes as a sorted set.")
        .syntax("dst src min:string max:string [sortby: BYSCORE | BYLEX] [REV] [LIMIT offset count]")
        .errors(&["ERR syntax error", NOT_AN_INTEGER, NOT_A_FLOAT, NOT_A_STRING, LIMIT_BY_RANK]),
];

const fn row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -4, handler).flags(&[Flags::READONLY]).categories(&["sortedset"]).keys(READS)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rank,
    Score,
    Lex,
}

/// The options that are fixed by a command.
#[derive(Clone, Copy, Debug, Default)]
struct Fixed {
    kind: Option<Kind>,
    reverse: Option<bool>,
    /// Whether the command stores the result. If so, it returns no scores.
    stores: bool,
}

/// The members requested.
#[derive(Clone, Copy, Debug)]
enum Wanted<'a> {
    Ranks(i64, i64),
    Scores(Scores),
    Members(Members<'a>),
}

#[derive(Clone, Copy, Debug)]
struct Query<'a> {
    wanted: Wanted<'a>,
    reverse: bool,
    with_scores: bool,
    /// The number of members to skip, and the number to take. Negative: all.
    limit: Option<(i64, i64)>,
}

impl<'a> Query<'a> {
    /// Reads the two ends of the range, arguments `at` and the next, and the options after them.
    fn parse(args: Args<'a>, at: usize, fixed: Fixed) -> Result<Self, CommandError> {
        let Fixed { mut kind, mut reverse, stores } = fixed;
        let (mut with_scores, mut limit) = (false, None);
        let mut option = at + 2;
        while option < args.len() {
            if !stores && args.is(option, "withscores") {
                with_scores = true;
            } else if args.is(option, "limit") && option + 2 < args.len() {
                limit = Some((args.int(option + 1)?, args.int(option + 2)?));
                option += 2;
            } else if reverse.is_none() && args.is(option, "rev") {
                reverse = Some(true);
            } else if kind.is_none() && args.is(option, "bylex") {
                kind = Some(Kind::Lex);
            } else if kind.is_none() && args.is(option, "byscore") {
                kind = Some(Kind::Score);
            } else {
                return Err(errors::SYNTAX);
            }
            option += 1;
        }
        let (kind, reverse) = (kind.unwrap_or(Kind::Rank), reverse.unwrap_or(false));
        if kind == Kind::Rank && limit.is_some_and(|(_, count)| count != -1) {
            return Err(errors::LIMIT_BY_RANK);
        }
        if kind == Kind::Lex && with_scores {
            return Err(errors::SCORES_BY_LEX);
        }
        let (low, high) = if reverse { (at + 1, at) } else { (at, at + 1) };
        let wanted = match kind {
            Kind::Rank => Wanted::Ranks(args.int(at)?, args.int(at + 1)?),
            Kind::Score => Wanted::Scores(Scores::parse(args, low, high)?),
            Kind::Lex => Wanted::Members(Members::parse(args, low, high)?),
        };
        Ok(Query { wanted, reverse, with_scores, limit })
    }

    fn ranks(&self, set: &ZSet) -> Range<usize> {
        let len = set.len();
        let found = match self.wanted {
            Wanted::Ranks(start, stop) => {
                let places = index_range(start, stop, len);
                return if self.reverse { len - places.end..len - places.start } else { places };
            }
            Wanted::Scores(scores) => scores.ranks(set),
            Wanted::Members(members) => members.ranks(set),
        };
        let Some((offset, count)) = self.limit else { return found };
        // A negative offset skips everything.
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(found.len());
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(found.len() - offset);
        if self.reverse {
            let end = found.end - offset;
            end - count..end
        } else {
            let start = found.start + offset;
            start..start + count
        }
    }

    fn run<'s>(&self, set: &'s ZSet) -> Pairs<'s> {
        Pairs::new(set, self.ranks(set), self.reverse)
    }
}

fn zrange(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    range(tx, args, Fixed::default(), reply)
}

fn zrevrange(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    range(tx, args, fixed(Kind::Rank, true), reply)
}

fn zrangebyscore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    range(tx, args, fixed(Kind::Score, false), reply)
}

fn zrevrangebyscore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    range(tx, args, fixed(Kind::Score, true), reply)
}

fn zrangebylex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    range(tx, args, fixed(Kind::Lex, false), reply)
}

fn zrevrangebylex(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    range(tx, args, fixed(Kind::Lex, true), reply)
}

const fn fixed(kind: Kind, reverse: bool) -> Fixed {
    Fixed { kind: Some(kind), reverse: Some(reverse), stores: false }
}

fn range(tx: &mut Tx<'_>, args: Args<'_>, fixed: Fixed, reply: &mut dyn Reply) -> Outcome {
    let query = Query::parse(args, 2, fixed)?;
    let Some(set) = tx.read::<ZSet>(&args[1])? else {
        reply.array(0);
        return Ok(());
    };
    let found = query.run(set);
    if query.with_scores {
        write_scored(found, reply);
    } else {
        write_members(found, reply);
    }
    Ok(())
}

fn zrangestore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let query = Query::parse(args, 3, Fixed { stores: true, ..Fixed::default() })?;
    let encodings = tx.encodings().clone();
    let mut stored = ZSet::new();
    if let Some(set) = tx.read::<ZSet>(&args[2])? {
        let found = query.run(set);
        stored.expect(found.len(), 0, &encodings);
        let mut blocks = SmallBlocks::default();
        allocation::contain(|| {
            for (member, score) in found {
                blocks.count(member.len());
                stored.insert(member, score, &encodings);
            }
        })?;
    }
    reply.integer(store(tx, &args[1], stored, events::ZRANGESTORE) as i64);
    Ok(())
}
