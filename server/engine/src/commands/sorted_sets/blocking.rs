//! The commands that take members off an end of a sorted set, or of the first of several, and wait until there are
//! some.

use super::pop::{ENDS, POPS, Side, multi_pop, take, taken};
use crate::commands::ready::{MultiPop, first_ready};
use crate::keyspace::Tx;
use crate::spec::{
    Args, BlockingHandler, BlockingOutcome, Flags, Flow, KeySpec, Null, Row, Wait, WaitClass,
    parse_timeout_ms,
};
use crate::values::ZSet;
use lockwheel_resp::Reply;

const ALL_BUT_LAST: &[KeySpec] = &[KeySpec::range(1, -2, 1, &[POPS])];

/// The rows of this file.
pub(in crate::commands) const ROWS: &[Row<BlockingHandler>] = &[
    blocking_pop_row("bzpopmin", bzpopmin).summary(
        "Removes and returns the member with the lowest score of the first sorted set that exists, waiting for one if \
         need be.",
    ),
    blocking_pop_row("bzpopmax", bzpopmax).summary(
        "Removes and returns the member with the highest score of the first sorted set that exists, waiting for one if \
         need be.",
    ),
    Row::new("bzmpop", -5, bzmpop as BlockingHandler)
        .flags(&[Flags::WRITE, Flags::BLOCKING, Flags::MOVABLEKEYS])
        .categories(&["sortedset"])
        .keys(&[KeySpec::counted(2, &[POPS])])
        .about("sorted-set", "7.0.0", "O(K + M log N), K the keys, M the members returned, N those of the set")
        .summary("Removes and returns members of the first of several sorted sets, waiting for one if need be.")
        .syntax("timeout numkeys key [key ...] (MIN | MAX) [COUNT count]")
        .errors(&[
            "ERR numkeys should be greater than 0",
            "ERR count should be greater than 0",
            "ERR syntax error",
            "ERR timeout is not a float or out of range",
            "ERR timeout is negative",
            "ERR timeout is out of range",
        ]),
];

const fn blocking_pop_row(name: &'static str, handler: BlockingHandler) -> Row<BlockingHandler> {
    Row::new(name, -3, handler)
        .flags(&[Flags::WRITE, Flags::BLOCKING, Flags::FAST])
        .categories(&["sortedset"])
        .keys(ALL_BUT_LAST)
        .about("sorted-set", "5.0.0", "O(K + log N), K the keys, N the members of the set")
        .syntax("key [key ...] timeout")
        .errors(&[
            "ERR timeout is not a float or out of range",
            "ERR timeout is negative",
            "ERR timeout is out of range",
        ])
}

fn bzmpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let wanted = MultiPop::parse(args, 2, ENDS)?;
    let timeout_ms = parse_timeout_ms(&args[1])?;
    if multi_pop(tx, args, &wanted, reply)? {
        return Ok(Flow::Done);
    }
    Ok(Flow::NotYet(Wait::on_keys(wanted.keys, WaitClass::SortedSet, timeout_ms, Null::Array)))
}

fn bzpopmin(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_pop(tx, args, Side::Min, reply)
}

fn bzpopmax(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_pop(tx, args, Side::Max, reply)
}

fn blocking_pop(tx: &mut Tx<'_>, args: Args<'_>, side: Side, reply: &mut dyn Reply) -> BlockingOutcome {
    let keys = 1..args.len() - 1;
    let timeout_ms = parse_timeout_ms(&args[keys.end])?;
    if let Some(at) = first_ready::<ZSet>(tx, args, keys.clone())?
        && let Some(set) = tx.write::<ZSet>(&args[at])?
    {
        reply.array(3);
        reply.bulk(&args[at]);
        let empty = take(set, side, 1, |members| members.write_first(reply));
        taken(tx, &args[at], side, empty);
        return Ok(Flow::Done);
    }
    Ok(Flow::NotYet(Wait::on_keys(keys, WaitClass::SortedSet, timeout_ms, Null::Array)))
}
