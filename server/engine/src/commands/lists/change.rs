//! The commands that add, replace and remove elements of one list.

use super::{place, push_event};
use crate::commands::ranges::index_range;
use crate::spec::{Args, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Edit, Tx, events};
use lockwheel_store::values::{End, List};

const INSERTS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::INSERT])];
const DELETES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])];

/// The row of a command that adds elements at an end.
const fn push_row(name: &'static str, since: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -3, handler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["list"])
        .keys(INSERTS)
        .about(
            "list",
            since,
            "O(1) for each element added, so O(N) to add N elements when the command is called with \
             multiple arguments.",
        )
        .syntax("key element [element ...]")
}

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    push_row("lpush", "1.0.0", lpush)
        .summary("Adds elements at the front of a list, the last one foremost.")
        .history(&[("2.4.0", "Accepts multiple `element` arguments.")]),
    push_row("rpush", "1.0.0", rpush)
        .summary("Adds elements at the back of a list.")
        .history(&[("2.4.0", "Accepts multiple `element` arguments.")]),
    push_row("lpushx", "2.2.0", lpushx)
        .summary("Adds elements at the front of a list if it exists.")
        .history(&[("4.0.0", "Accepts multiple `element` arguments.")]),
    push_row("rpushx", "2.2.0", rpushx)
        .summary("Adds elements at the back of a list if it exists.")
        .history(&[("4.0.0", "Accepts multiple `element` arguments.")]),
    Row::new("linsert", 5, linsert as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["list"])
        .keys(INSERTS)
        .about(
            "list",
            "2.2.0",
            "O(N) where N is the number of elements to traverse before seeing the value pivot. This means \
             that inserting somewhere on the left end on the list (head) can be considered O(1) and \
             inserting somewhere on the right end (tail) is O(N).",
        )
        .summary("Adds an element before or after the first one equal to a pivot.")
        .syntax("key (where: BEFORE | AFTER) pivot element")
        .errors(&["ERR syntax error"]),
    Row::new("lset", 4, lset as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["list"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
        .about(
            "list",
            "1.0.0",
            "O(N) where N is the length of the list. Setting either the first or the last element of the \
             list is O(1).",
        )
        .summary("Replaces the element with an index.")
        .syntax("key index element")
        .errors(&[
            "ERR no such key",
            "ERR value is not an integer or out of range",
            "ERR index out of range",
        ]),
    Row::new("lrem", 4, lrem as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["list"])
        .keys(DELETES)
        .about(
            "list",
            "1.0.0",
            "O(N+M) where N is the length of the list and M is the number of elements removed.",
        )
        .summary("Removes elements that equal a given element: all, or a number of them from either end.")
        .syntax("key count element")
        .errors(&[
            "ERR value is not an integer or out of range",
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
        ]),
    Row::new("ltrim", 4, ltrim as DataHandler)
        .flags(&[Flags::WRITE])
        .categories(&["list"])
        .keys(DELETES)
        .about("list", "1.0.0", "O(N) where N is the number of elements to be removed by the operation.")
        .summary("Keeps the elements from one index to another and removes the rest.")
        .syntax("key start stop")
        .errors(&["ERR value is not an integer or out of range"]),
];

fn lpush(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let list = tx.write_or_new::<List>(&args[1])?;
    let len = push(list, args, End::Left);
    pushed(tx, args, End::Left, len, reply)
}

fn rpush(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let list = tx.write_or_new::<List>(&args[1])?;
    let len = push(list, args, End::Right);
    pushed(tx, args, End::Right, len, reply)
}

fn lpushx(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    push_if_there(tx, args, End::Left, reply)
}

fn rpushx(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    push_if_there(tx, args, End::Right, reply)
}

fn push_if_there(tx: &mut Tx<'_>, args: Args<'_>, end: End, reply: &mut dyn Reply) -> Outcome {
    match tx.write::<List>(&args[1])? {
        Some(list) => {
            let len = push(list, args, end);
            pushed(tx, args, end, len, reply)
        }
        None => {
            reply.integer(0);
            Ok(())
        }
    }
}

/// Adds all elements of a push. Returns the length of the list.
fn push(list: Edit<'_, List>, args: Args<'_>, end: End) -> usize {
    list.value.push_all(end, args.from(2).iter().copied(), list.encodings);
    list.value.len()
}

fn pushed(tx: &mut Tx<'_>, args: Args<'_>, end: End, len: usize, reply: &mut dyn Reply) -> Outcome {
    tx.changed(&args[1], push_event(end));
    reply.integer(len as i64);
    Ok(())
}

fn linsert(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let behind = args.is(2, "after");
    if !behind && !args.is(2, "before") {
        return Err(errors::SYNTAX);
    }
    let Some(list) = tx.write::<List>(&args[1])? else {
        reply.integer(0);
        return Ok(());
    };
    let Some(pivot) = list.value.iter().position(|element| *element == args[3]) else {
        reply.integer(-1);
        return Ok(());
    };
    list.value.insert(pivot + usize::from(behind), &args[4], list.encodings);
    reply.integer(list.value.len() as i64);
    tx.changed(&args[1], events::LINSERT);
    Ok(())
}

fn lset(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let list = tx.write::<List>(&args[1])?.ok_or(errors::NO_SUCH_KEY)?;
    // Redis checks the key first.
    let index = args.int(2)?;
    let place = place(index, list.value.len()).ok_or(errors::INDEX_OUT_OF_RANGE)?;
    list.value.set(place, &args[3], list.encodings);
    tx.changed(&args[1], events::LSET);
    reply.ok();
    Ok(())
}

fn lrem(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let count = args.int_in(2, -i64::MAX, i64::MAX, errors::OUT_OF_LONG_RANGE)?;
    let Some(list) = tx.write::<List>(&args[1])? else {
        reply.integer(0);
        return Ok(());
    };
    let max = if count == 0 { usize::MAX } else { count.unsigned_abs() as usize };
    let from = if count < 0 { End::Right } else { End::Left };
    let removed = list.value.remove_equal(&args[3], max, from, list.encodings);
    if removed > 0 {
        let empty = list.value.is_empty();
        tx.changed(&args[1], events::LREM);
        if empty {
            tx.delete(&args[1]);
        }
    }
    reply.integer(removed as i64);
    Ok(())
}

fn ltrim(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (start, stop) = (args.int(2)?, args.int(3)?);
    if let Some(Edit { value: list, encodings, .. }) = tx.write::<List>(&args[1])? {
        let before = list.len();
        list.trim(index_range(start, stop, before), encodings);
        let (empty, is_unchanged) = (list.is_empty(), list.len() == before);
        // The event is published even if nothing was removed.
        tx.changed(&args[1], events::LTRIM);
        if is_unchanged {
            tx.propagate(&[]);
        }
        if empty {
            tx.delete(&args[1]);
        }
    }
    reply.ok();
    Ok(())
}
