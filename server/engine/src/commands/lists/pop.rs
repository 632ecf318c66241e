//! The commands that take elements off a list, or off the first of several, at once or when there are some.

use super::pop_event;
use crate::commands::ready::{MultiPop, first_ready};
use crate::keyspace::{Edit, Tx};
use crate::spec::{
    Args, CommandError, DataHandler, Flow, KeySpec, Null, Outcome, Row, Wait, WaitClass, flags, key_flags,
    parse_timeout_ms,
};
use crate::values::{End, List};
use lockwheel_resp::Reply;

const POPS: u32 = key_flags::RW | key_flags::ACCESS | key_flags::DELETE;
const ONE_KEY: &[KeySpec] = &[KeySpec::one(1, POPS)];
const ALL_BUT_LAST: &[KeySpec] = &[KeySpec::range(1, -2, 1, POPS)];
const ENDS: [&str; 2] = ["left", "right"];

/// The rows of this file.
pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    pop_row("lpop", lpop).summary("Removes and returns the first element of a list, or so many of them."),
    pop_row("rpop", rpop).summary("Removes and returns the last element of a list, or so many of them."),
    Row::new("lmpop", -4, lmpop as DataHandler)
        .flags(flags::WRITE | flags::MOVABLEKEYS)
        .categories(&["list"])
        .keys(&[KeySpec::counted(1, POPS)])
        .about("list", "7.0.0", "O(N+M), N the keys, M the elements returned")
        .summary("Removes and returns elements of the first of several lists that exists.")
        .syntax("numkeys key [key ...] (LEFT | RIGHT) [COUNT count]")
        .errors(&[
            "ERR numkeys should be greater than 0",
            "ERR count should be greater than 0",
            "ERR syntax error",
        ]),
    blocking_pop_row("blpop", blpop)
        .summary("Removes and returns the first element of the first list that has one, waiting for it if need be."),
    blocking_pop_row("brpop", brpop)
        .summary("Removes and returns the last element of the first list that has one, waiting for it if need be."),
    Row::new("blmpop", -5, blmpop as DataHandler)
        .flags(flags::WRITE | flags::BLOCKING | flags::MOVABLEKEYS)
        .categories(&["list"])
        .keys(&[KeySpec::counted(2, POPS)])
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
];

const fn pop_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -2, handler)
        .flags(flags::WRITE | flags::FAST)
        .categories(&["list"])
        .keys(ONE_KEY)
        .about("list", "1.0.0", "O(N), N the elements returned")
        .syntax("key [count]")
        .errors(&["ERR value is out of range, must be positive"])
}

const fn blocking_pop_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -3, handler)
        .flags(flags::WRITE | flags::BLOCKING)
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

fn lpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    pop(tx, args, End::Left, reply)
}

fn rpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    pop(tx, args, End::Right, reply)
}

fn pop(tx: &mut Tx<'_>, args: Args<'_>, end: End, reply: &mut dyn Reply) -> Outcome {
    let count = match args.len() {
        2 => None,
        3 => Some(args.count(2)?),
        _ => return Err(CommandError::arity(if end == End::Left { "lpop" } else { "rpop" })),
    };
    let Some(list) = tx.write::<List>(&args[1])? else {
        match count {
            None => reply.null(),
            Some(_) => reply.null_array(),
        }
        return Ok(Flow::Done);
    };
    let empty = match count {
        None => take_one(list, end, reply),
        Some(0) => {
            reply.array(0);
            return Ok(Flow::Done);
        }
        Some(count) => take(list, end, count, reply),
    };
    taken(tx, &args[1], end, empty);
    Ok(Flow::Done)
}

/// Removes and replies the element at an end; whether the list is empty now.
fn take_one(list: Edit<'_, List>, end: End, reply: &mut dyn Reply) -> bool {
    if let Some(element) = list.value.peek(end) {
        reply.bulk(element);
    }
    list.value.drop_end(end, 1, list.encodings);
    list.value.is_empty()
}

/// Removes up to `count` elements at an end and replies them as an array; whether the list is empty now.
fn take(list: Edit<'_, List>, end: End, count: usize, reply: &mut dyn Reply) -> bool {
    let Edit { value: list, encodings, .. } = list;
    let len = list.len();
    let count = count.min(len);
    reply.array(count);
    match end {
        End::Left => list.range(0..count).for_each(|element| reply.bulk(element)),
        End::Right => list.range(len - count..len).rev().for_each(|element| reply.bulk(element)),
    }
    list.drop_end(end, count, encodings);
    count == len
}

/// Tells what was taken, at least one element.
fn taken(tx: &mut Tx<'_>, key: &[u8], end: End, empty: bool) {
    tx.changed(key, pop_event(end));
    if empty {
        tx.delete(key);
    }
}

fn lmpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wanted = MultiPop::parse(args, 1, ENDS)?;
    if !multi_pop(tx, args, &wanted, reply)? {
        reply.null_array();
    }
    Ok(Flow::Done)
}

fn blmpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wanted = MultiPop::parse(args, 2, ENDS)?;
    let timeout_ms = parse_timeout_ms(&args[1])?;
    if multi_pop(tx, args, &wanted, reply)? {
        return Ok(Flow::Done);
    }
    Ok(Flow::NotYet(Wait::on_keys(wanted.keys, WaitClass::List, timeout_ms, Null::Array)))
}

/// Takes from the first list that exists; whether there is one.
fn multi_pop(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    wanted: &MultiPop,
    reply: &mut dyn Reply,
) -> Result<bool, CommandError> {
    let Some(at) = first_ready::<List>(tx, args, wanted.keys.clone())? else { return Ok(false) };
    let Some(list) = tx.write::<List>(&args[at])? else { return Ok(false) };
    reply.array(2);
    reply.bulk(&args[at]);
    let end = if wanted.second_word { End::Right } else { End::Left };
    let empty = take(list, end, wanted.count, reply);
    taken(tx, &args[at], end, empty);
    Ok(true)
}

fn blpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    blocking_pop(tx, args, End::Left, reply)
}

fn brpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    blocking_pop(tx, args, End::Right, reply)
}

fn blocking_pop(tx: &mut Tx<'_>, args: Args<'_>, end: End, reply: &mut dyn Reply) -> Outcome {
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
