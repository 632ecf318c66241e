//! The commands that pop members from an end of a sorted set, or of the first nonempty of several, without waiting.

use super::pairs::{Pairs, write_nested, write_scored};
use crate::commands::pop_first::{POPS, Pop, class_of, multi_pop, multi_pop_row, taken};
use crate::spec::{Args, DataHandler, Flags, KeySpec, Outcome, Row, WaitClass, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Edit, Event, Tx, events};
use lockwheel_store::values::{Value, ZSet};

const ONE_KEY: &[KeySpec] = &[KeySpec::one(1, &[POPS])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    pop_row("zpopmin", zpopmin)
        .summary("Removes and returns the member with the lowest score, or several members."),
    pop_row("zpopmax", zpopmax)
        .summary("Removes and returns the member with the highest score, or several members."),
    multi_pop_row("zmpop", multi_pop::<ZSet>)
        .categories(&["sortedset"])
        .about(
            "sorted-set",
            "7.0.0",
            "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in \
             the sorted set, and M being the number of elements popped.",
        )
        .summary("Removes and returns members of the first of several sorted sets that exists.")
        .syntax("numkeys key [key ...] (where: MIN | MAX) [COUNT count]"),
];

const fn pop_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -2, handler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["sortedset"])
        .keys(ONE_KEY)
        .about(
            "sorted-set",
            "5.0.0",
            "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number of \
             elements popped.",
        )
        .syntax("key [count]")
        .errors(&["ERR value is out of range, must be positive", "ERR syntax error"])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Side {
    Min,
    Max,
}

/// Removes up to `count` members at a side, after `write` has replied them. Returns whether the set is empty now.
fn take(set: Edit<'_, ZSet>, side: Side, count: usize, write: impl FnOnce(Pairs<'_>)) -> bool {
    let Edit { value: set, .. } = set;
    let len = set.len();
    let count = count.min(len);
    let ranks = if side == Side::Min { 0..count } else { len - count..len };
    write(Pairs::new(set, ranks.clone(), side == Side::Max));
    set.remove_range(ranks);
    count == len
}

impl Pop for ZSet {
    type End = Side;
    const ENDS: [(&'static str, Side); 2] = [("min", Side::Min), ("max", Side::Max)];
    const CLASS: &'static WaitClass = &class_of("sorted set", |value| matches!(value, Some(Value::ZSet(_))));
    const WIDTH: usize = 2;

    fn take_one(set: Edit<'_, ZSet>, side: Side, reply: &mut dyn Reply) -> bool {
        take(set, side, 1, |members| members.write_first(reply))
    }

    fn take(set: Edit<'_, ZSet>, side: Side, count: usize, reply: &mut dyn Reply) -> bool {
        take(set, side, count, |members| write_nested(members, reply))
    }

    fn len(&self) -> usize {
        ZSet::len(self)
    }

    fn command(side: Side) -> &'static [u8] {
        match side {
            Side::Min => b"ZPOPMIN",
            Side::Max => b"ZPOPMAX",
        }
    }

    fn event(side: Side) -> Event {
        if side == Side::Min { events::ZPOPMIN } else { events::ZPOPMAX }
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
        (Some(set), None) => {
            reply.array(ZSet::WIDTH);
            ZSet::take_one(set, side, reply)
        }
        (Some(set), Some(count)) => take(set, side, count, |members| write_scored(members, reply)),
    };
    taken::<ZSet>(tx, &args[1], side, empty);
    Ok(())
}
