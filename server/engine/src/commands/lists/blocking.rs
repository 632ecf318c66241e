//! The commands that take from a list, or from the first of several, or move an element, and wait until there is one.

use super::end;
use super::pop::{ENDS, POPS, multi_pop, take_one, taken};
use super::transfer::{Ends, KEYS, RIGHT_TO_LEFT, transfer};
use crate::commands::ready::{MultiPop, first_ready};
use crate::keyspace::Tx;
use crate::spec::{
    Args, BlockingHandler, BlockingOutcome, Flags, Flow, KeySpec, Null, Row, Wait, WaitClass,
    parse_timeout_ms,
};
use crate::values::{End, List};
use lockwheel_resp::Reply;

const ALL_BUT_LAST: &[KeySpec] = &[KeySpec::range(1, -2, 1, &[POPS])];

/// The rows of this file.
pub(in crate::commands) const ROWS: &[Row<BlockingHandler>] = &[
    blocking_pop_row("blpop", blpop)
        .summary("Removes and returns the first element of the first list that has one, waiting for it if need be."),
    blocking_pop_row("brpop", brpop)
        .summary("Removes and returns the last element of the first list that has one, waiting for it if need be."),
    Row::new("blmpop", -5, blmpop as BlockingHandler)
        .flags(&[Flags::WRITE, Flags::BLOCKING, Flags::MOVABLEKEYS])
        .categories(&["list"])
        .keys(&[KeySpec::counted(2, &[POPS])])
        .about("list", "7.0.0", "O(N+M), N the keys, M the elements returned")
        .summary("Removes and returns elements of the first of several lists that exists, waiting for one if need be.")
        .syntax("timeout numkeys key [key ...] (LEFT | RIGHT) [COUNT count]")
        .errors(&[
            "ERR numkeys should be greater than 0",
            "ERR count should be greater than 0",
            "ERR syntax error",
            "ERR timeout is not a float or out of range",
            "ERR timeout is negative",
            "ERR timeout is out of range",
        ]),
    Row::new("blmove", 6, blmove as BlockingHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::BLOCKING])
        .categories(&["list"])
        .keys(KEYS)
        .about("list", "6.2.0", "O(1)")
        .summary("Moves an element from an end of a list to an end of a list, waiting for one if need be.")
        .syntax("source destination (LEFT | RIGHT) (LEFT | RIGHT) timeout")
        .errors(&[
            "ERR syntax error",
            "ERR timeout is not a float or out of range",
            "ERR timeout is negative",
            "ERR timeout is out of range",
        ]),
    Row::new("brpoplpush", 4, brpoplpush as BlockingHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::BLOCKING])
        .categories(&["list"])
        .keys(KEYS)
        .about("list", "2.2.0", "O(1)")
        .summary("Moves the last element of a list to the front of a list, waiting for one if need be.")
        .syntax("source destination timeout")
        .errors(&[
            "ERR timeout is not a float or out of range",
            "ERR timeout is negative",
            "ERR timeout is out of range",
        ]),
];

const fn blocking_pop_row(name: &'static str, handler: BlockingHandler) -> Row<BlockingHandler> {
    Row::new(name, -3, handler)
        .flags(&[Flags::WRITE, Flags::BLOCKING])
        .categories(&["list"])
        .keys(ALL_BUT_LAST)
        .about("list", "2.0.0", "O(N), N the keys")
        .syntax("key [key ...] timeout")
        .errors(&[
            "ERR timeout is not a float or out of range",
            "ERR timeout is negative",
            "ERR timeout is out of range",
        ])
}

fn blmpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let wanted = MultiPop::parse(args, 2, ENDS)?;
    let timeout_ms = parse_timeout_ms(&args[1])?;
    if multi_pop(tx, args, &wanted, reply)? {
        return Ok(Flow::Done);
    }
    Ok(Flow::NotYet(Wait::on_keys(wanted.keys, WaitClass::List, timeout_ms, Null::Array)))
}

fn blpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_pop(tx, args, End::Left, reply)
}

fn brpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_pop(tx, args, End::Right, reply)
}

fn blocking_pop(tx: &mut Tx<'_>, args: Args<'_>, end: End, reply: &mut dyn Reply) -> BlockingOutcome {
    let keys = 1..args.len() - 1;
    let timeout_ms = parse_timeout_ms(&args[keys.end])?;
    if let Some(at) = first_ready::<List>(tx, args, keys.clone())?
        && let Some(list) = tx.write::<List>(&args[at])?
    {
        reply.array(2);
        reply.bulk(&args[at]);
        let empty = take_one(list, end, reply);
        taken(tx, &args[at], end, empty);
        return Ok(Flow::Done);
    }
    Ok(Flow::NotYet(Wait::on_keys(keys, WaitClass::List, timeout_ms, Null::Array)))
}

fn blmove(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let ends = (end(args, 3)?, end(args, 4)?);
    blocking_transfer(tx, args, ends, 5, reply)
}

fn brpoplpush(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_transfer(tx, args, RIGHT_TO_LEFT, 3, reply)
}

/// Transfers, or waits for the source; argument `timeout` says for how long.
fn blocking_transfer(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    ends: Ends,
    timeout: usize,
    reply: &mut dyn Reply,
) -> BlockingOutcome {
    let timeout_ms = parse_timeout_ms(&args[timeout])?;
    if transfer(tx, args, ends, reply)? {
        return Ok(Flow::Done);
    }
    // Redis answers a null array when the time is over, and a null bulk string where it may not wait.
    let wait = Wait::on_keys([1], WaitClass::List, timeout_ms, Null::Array);
    Ok(Flow::NotYet(Wait { null_at_once: Null::Bulk, ..wait }))
}
