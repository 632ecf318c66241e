//! The commands that pop members from an end of the first nonempty of one or more sorted sets, and wait for one.

use super::pop::Side;
use crate::commands::pop_first::{
    blocking_multi_pop, blocking_multi_pop_row, blocking_pop, blocking_pop_row,
};
use crate::spec::{Args, BlockingHandler, BlockingOutcome, Flags, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::ZSet;

pub(in crate::commands) const ROWS: &[Row<BlockingHandler>] = &[
    pop_row("bzpopmin", bzpopmin).summary(
        "Removes and returns the member with the lowest score of the first sorted set that exists, \
             waiting for one if need be.",
    ),
    pop_row("bzpopmax", bzpopmax).summary(
        "Removes and returns the member with the highest score of the first sorted set that exists, \
             waiting for one if need be.",
    ),
    blocking_multi_pop_row("bzmpop", blocking_multi_pop::<ZSet>)
        .categories(&["sortedset"])
        .about(
            "sorted-set",
            "7.0.0",
            "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in \
             the sorted set, and M being the number of elements popped.",
        )
        .summary(
            "Removes and returns members of the first of several sorted sets, waiting for one if need be.",
        )
        .syntax("timeout numkeys key [key ...] (where: MIN | MAX) [COUNT count]"),
];

const fn pop_row(name: &'static str, handler: BlockingHandler) -> Row<BlockingHandler> {
    blocking_pop_row(name, handler)
        .flags(&[Flags::WRITE, Flags::BLOCKING, Flags::FAST])
        .categories(&["sortedset"])
        .about("sorted-set", "5.0.0", "O(log(N)) with N being the number of elements in the sorted set.")
}

fn bzpopmin(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_pop::<ZSet>(tx, args, Side::Min, reply)
}

fn bzpopmax(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    blocking_pop::<ZSet>(tx, args, Side::Max, reply)
}
