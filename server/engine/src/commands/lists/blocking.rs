//! The commands that pop from the first nonempty of one or more lists, or move an element, and wait for one.

use super::end;
use super::transfer::{Ends, KEYS, RIGHT_TO_LEFT, transfer};
use crate::commands::pop_first::{
    Pop, TIMEOUT_ERRORS, blocking_multi_pop, blocking_multi_pop_row, blocking_pop, blocking_pop_row,
};
use crate::spec::{
    Args, Attempt, BlockingHandler, BlockingOutcome, CommandError, Flags, Flow, Null, Row, TimeoutRule, Wait,
    parse_timeout_ms,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{End, List};

pub(in crate::commands) const ROWS: &[Row<BlockingHandler>] = &[
    pop_row("blpop", blpop).summary(
        "Removes and returns the first element of the first list that has one, waiting for it if need \
             be.",
    ),
    pop_row("brpop", brpop).summary(
        "Removes and returns the last element of the first list that has one, waiting for it if need \
             be.",
    ),
    blocking_multi_pop_row("blmpop", blocking_multi_pop::<List>)
        .categories(&["list"])
        .about(
            "list",
            "7.0.0",
            "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
        )
        .summary(
            "Removes and returns elements of the first of several lists that exists, waiting for one if \
             need be.",
        )
        .syntax("timeout numkeys key [key ...] (where: LEFT | RIGHT) [COUNT count]"),
    Row::new("blmove", 6, blmove as BlockingHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::BLOCKING])
        .categories(&["list"])
        .keys(KEYS)
        .about("list", "6.2.0", "O(1)")
        .summary("Moves an element from an end of a list to an end of a list, waiting for one if need be.")
        .syntax("source destination (wherefrom: LEFT | RIGHT) (whereto: LEFT | RIGHT) timeout")
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
        .history(&[("6.0.0", "`timeout` is interpreted as a double instead of an integer.")])
        .deprecated("6.2.0", "`BLMOVE` with the `RIGHT` and `LEFT` arguments")
        .syntax("source destination timeout")
        .errors(TIMEOUT_ERRORS),
];

const fn pop_row(name: &'static str, handler: BlockingHandler) -> Row<BlockingHandler> {
    blocking_pop_row(name, handler).categories(&["list"]).about(
        "list",
        "2.0.0",
        "O(N) where N is the number of provided keys.",
    )
}

fn blpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_pop::<List>(tx, args, End::Left, reply)
}

fn brpop(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_pop::<List>(tx, args, End::Right, reply)
}

fn blmove(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let ends = (end(args, 3)?, end(args, 4)?);
    blocking_transfer(tx, args, ends, 5, reply)
}

fn brpoplpush(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_transfer(tx, args, RIGHT_TO_LEFT, 3, reply)
}

/// A move that waits for an element.
#[derive(Debug)]
struct Transfer(Ends);

impl Attempt for Transfer {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let is_done = transfer(tx, args, self.0, waited_ms.is_some(), reply)?;
        if is_done {
            propagate_transfer(tx, args, waited_ms.map(|_| self.0));
        }
        Ok(is_done)
    }
}

/// Propagates a move by the command that does not wait. If the client has waited, the command has Redis' own names of
/// the `ends`, as in 7.0; otherwise the client's words.
fn propagate_transfer(tx: &mut Tx<'_>, args: Args<'_>, ends: Option<Ends>) {
    let name = |end| match end {
        End::Left => &b"left"[..],
        End::Right => b"right",
    };
    match (args.all(), ends) {
        ([_, source, destination, _], _) => tx.propagate(&[b"RPOPLPUSH", source, destination]),
        ([_, source, destination, ..], Some((from, to))) => {
            tx.propagate(&[b"LMOVE", source, destination, name(from), name(to)]);
        }
        ([_, words @ .., _], None) => tx.propagate_parts(&[&[b"LMOVE"], words]),
        _ => {}
    }
}

/// Moves an element, or waits for the source. Argument `timeout` is the longest wait.
fn blocking_transfer(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    ends: Ends,
    timeout: usize,
    reply: &mut dyn Reply,
) -> BlockingOutcome {
    let timeout_ms = parse_timeout_ms(&args[timeout], TimeoutRule::of(tx))?;
    if transfer(tx, args, ends, false, reply)? {
        propagate_transfer(tx, args, None);
        return Ok(Flow::Done);
    }
    // Redis replies a null array on timeout, and a null bulk string if the command may not wait.
    let wait = Wait::on_keys([1], List::CLASS, Transfer(ends), timeout_ms, Null::Array);
    Ok(Wait { null_at_once: Null::Bulk, ..wait }.into())
}
