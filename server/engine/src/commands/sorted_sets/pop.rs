//! The commands that take members off an end of a sorted set, or of the first of several, at once.

use super::pairs::Pairs;
use crate::commands::ready::{MultiPop, first_ready};
use crate::keyspace::{Edit, Tx, events};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use crate::values::ZSet;
use lockwheel_resp::Reply;

pub(super) const POPS: KeyFlags = KeyFlags::of(&[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::DELETE]);
const ONE_KEY: &[KeySpec] = &[KeySpec::one(1, &[POPS])];
pub(super) const ENDS: [&str; 2] = ["min", "max"];

/// The rows of this file.
pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    pop_row("zpopmin", zpopmin)
        .summary("Removes and returns the member with the lowest score, or so many of them."),
    pop_row("zpopmax", zpopmax)
        .summary("Removes and returns the member with the highest score, or so many of them."),
    Row::new("zmpop", -4, zmpop as DataHandler)
        .flags(&[Flags::WRITE, Flags::MOVABLEKEYS])
        .categories(&["sortedset"])
        .keys(&[KeySpec::counted(1, &[POPS])])
        .about(
            "sorted-set",
            "7.0.0",
            "O(K + M log N), K the keys, M the members returned, N those of the set",
        )
        .summary("Removes and returns members of the first of several sorted sets that exists.")
        .syntax("numkeys key [key ...] (MIN | MAX) [COUNT count]")
        .errors(&[
            "ERR numkeys should be greater than 0",
            "ERR count should be greater than 0",
            "ERR syntax error",
        ]),
];

const fn pop_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -2, handler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["sortedset"])
        .keys(ONE_KEY)
        .about("sorted-set", "5.0.0", "O(M log N), M the members returned, N those of the set")
        .syntax("key [count]")
        .errors(&["ERR value is out of range, must be positive", "ERR syntax error"])
}

/// An end of a sorted set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Min,
    Max,
}

/// Removes up to `count` members at a side, after `write` has replied them; whether the set is empty now.
pub(super) fn take(set: Edit<'_, ZSet>, side: Side, count: usize, write: impl FnOnce(Pairs<'_>)) -> bool {
    let Edit { value: set, .. } = set;
    let len = set.len();
    let count = count.min(len);
    let ranks = if side == Side::Min { 0..count } else { len - count..len };
    write(Pairs::new(set, ranks.clone(), side == Side::Max));
    set.remove_range(ranks);
    count == len
}

/// Tells what was taken, at least one member.
pub(super) fn taken(tx: &mut Tx<'_>, key: &[u8], side: Side, empty: bool) {
    tx.changed(key, if side == Side::Min { events::ZPOPMIN } else { events::ZPOPMAX });
    if empty {
        tx.delete(key);
    }
}

fn zpopmin(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    pop(tx, args, Side::Min, reply)
}

fn zpopmax(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    pop(tx, args, Side::Max, reply)
}

fn pop(tx: &mut Tx<'_>, args: Args<'_>, side: Side, reply: &mut dyn Reply) -> Outcome {
    let count = match args.len() {
        2 => None,
        3 => Some(args.count(2)?),
        _ => return Err(errors::SYNTAX),
    };
    let set = tx.write::<ZSet>(&args[1])?;
    let empty = match (set, count) {
        (None, _) | (_, Some(0)) => {
            reply.array(0);
            return Ok(());
        }
        (Some(set), None) => take(set, side, 1, |members| {
            reply.array(2);
            members.write_first(reply);
        }),
        (Some(set), Some(count)) => take(set, side, count, |members| members.write(reply)),
    };
    taken(tx, &args[1], side, empty);
    Ok(())
}

fn zmpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wanted = MultiPop::parse(args, 1, ENDS)?;
    if !multi_pop(tx, args, &wanted, reply)? {
        reply.null_array();
    }
    Ok(())
}

/// Takes from the first sorted set that exists; whether there is one.
pub(super) fn multi_pop(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    wanted: &MultiPop,
    reply: &mut dyn Reply,
) -> Result<bool, CommandError> {
    let Some(at) = first_ready::<ZSet>(tx, args, wanted.keys.clone())? else { return Ok(false) };
    let Some(set) = tx.write::<ZSet>(&args[at])? else { return Ok(false) };
    let side = if wanted.second_word { Side::Max } else { Side::Min };
    reply.array(2);
    reply.bulk(&args[at]);
    let empty = take(set, side, wanted.count, |members| members.write_nested(reply));
    taken(tx, &args[at], side, empty);
    Ok(true)
}
