//! The commands that move an element from one list to another, without waiting.

use super::{end, pop_event, push_event};
use crate::commands::pop_first::first_ready;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{Edit, Tx, Typed};
use lockwheel_store::values::{End, List};

pub(super) const KEYS: &[KeySpec] = &[
    KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::DELETE]),
    KeySpec::one(2, &[KeyFlags::RW, KeyFlags::INSERT]),
];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("lmove", 5, lmove as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["list"])
        .keys(KEYS)
        .about("list", "6.2.0", "O(1)")
        .summary("Moves an element from an end of a list to an end of a list and returns it.")
        .syntax("source destination (wherefrom: LEFT | RIGHT) (whereto: LEFT | RIGHT)")
        .errors(&["ERR syntax error"]),
    Row::new("rpoplpush", 3, rpoplpush as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["list"])
        .keys(KEYS)
        .about("list", "1.2.0", "O(1)")
        .summary("Moves the last element of a list to the front of another list and returns the element.")
        .deprecated("6.2.0", "`LMOVE` with the `RIGHT` and `LEFT` arguments")
        .syntax("source destination"),
];

/// The end of the source, and the end of the destination.
pub(super) type Ends = (End, End);

pub(super) const RIGHT_TO_LEFT: Ends = (End::Right, End::Left);

fn lmove(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let ends = (end(args, 3)?, end(args, 4)?);
    transfer_or_null(tx, args, ends, reply)
}

fn rpoplpush(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    transfer_or_null(tx, args, RIGHT_TO_LEFT, reply)
}

fn transfer_or_null(tx: &mut Tx<'_>, args: Args<'_>, ends: Ends, reply: &mut dyn Reply) -> Outcome {
    if !transfer(tx, args, ends, false, reply)? {
        reply.null();
    }
    Ok(())
}

/// Moves an element of the source, argument 1, to the destination, argument 2, and replies it. Returns whether there
/// was an element. `waits`: the command is waiting for the element already.
pub(super) fn transfer(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    (from, to): Ends,
    waits: bool,
    reply: &mut dyn Reply,
) -> Result<bool, CommandError> {
    let (source, destination) = (&args[1], &args[2]);
    if first_ready::<List>(tx, args, 1..2, waits)?.is_none() {
        return Ok(false);
    }
    if tx.peek(destination).is_some_and(|value| List::of(value).is_none()) {
        // Redis has looked up both keys by then.
        tx.access(source);
        tx.access(destination);
        return Err(errors::WRONG_TYPE);
    }
    let Some(Edit { value: list, encodings, .. }) = tx.write::<List>(source)? else { return Ok(false) };
    // The element is removed, added and replied. There must be memory for that before the element leaves its place.
    allocation::check_copies(list.peek(from).map_or(0, <[u8]>::len).saturating_mul(3))?;
    let Some(element) = list.pop(from, encodings) else { return Ok(false) };
    let Edit { value: list, encodings, .. } = tx.write_or_new::<List>(destination)?;
    list.push(to, &element, encodings);
    tx.changed(destination, push_event(to));
    tx.changed(source, pop_event(from));
    // If the source is also the destination, the element is back, and the key stays.
    tx.delete_if_empty(source);
    reply.bulk(&element);
    Ok(true)
}
