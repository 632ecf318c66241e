//! The commands that pop elements from a list, or from the first nonempty of several, without waiting.

use super::pop_event;
use crate::commands::pop_first::{POPS, Pop, class_of, multi_pop, multi_pop_row, taken};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeySpec, Outcome, Row, WaitClass};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Edit, Event, Tx};
use lockwheel_store::values::{End, List, Value};

const ONE_KEY: &[KeySpec] = &[KeySpec::one(1, &[POPS])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    pop_row("lpop", lpop).summary("Removes and returns the first element of a list, or several elements."),
    pop_row("rpop", rpop).summary("Removes and returns the last element of a list, or several elements."),
    multi_pop_row("lmpop", multi_pop::<List>)
        .categories(&["list"])
        .about(
            "list",
            "7.0.0",
            "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
        )
        .summary("Removes and returns elements of the first of several lists that exists.")
        .syntax("numkeys key [key ...] (where: LEFT | RIGHT) [COUNT count]"),
];

const fn pop_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -2, handler)
        .flags(&[Flags::WRITE, Flags::FAST])
        .categories(&["list"])
        .keys(ONE_KEY)
        .about("list", "1.0.0", "O(N) where N is the number of elements returned")
        .history(&[("6.2.0", "Added the `count` argument.")])
        .syntax("key [count@6.2.0]")
        .errors(&["ERR value is out of range, must be positive"])
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
        return Ok(());
    };
    let empty = match count {
        None => List::take_one(list, end, reply),
        Some(0) => {
            reply.array(0);
            return Ok(());
        }
        Some(count) => List::take(list, end, count, reply),
    };
    taken::<List>(tx, &args[1], end, empty);
    Ok(())
}

impl Pop for List {
    type End = End;
    const ENDS: [(&'static str, End); 2] = [("left", End::Left), ("right", End::Right)];
    const CLASS: &'static WaitClass = &class_of("list", |value| matches!(value, Some(Value::List(_))));
    const WIDTH: usize = 1;

    fn take_one(list: Edit<'_, List>, end: End, reply: &mut dyn Reply) -> bool {
        if let Some(element) = list.value.peek(end) {
            reply.bulk(element);
        }
        list.value.drop_end(end, 1, list.encodings);
        list.value.is_empty()
    }

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

    fn len(&self) -> usize {
        List::len(self)
    }

    fn command(end: End) -> &'static [u8] {
        match end {
            End::Left => b"LPOP",
            End::Right => b"RPOP",
        }
    }

    fn event(end: End) -> Event {
        pop_event(end)
    }
}
