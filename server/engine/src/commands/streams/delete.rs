//! XDEL.

use super::ids::parse_id;
use crate::spec::{Args, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::StreamId;
use smallvec::SmallVec;

const DELETES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::DELETE])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[Row::new("xdel", -3, xdel as DataHandler)
    .flags(&[Flags::WRITE, Flags::FAST])
    .categories(&["stream"])
    .keys(DELETES)
    .about(
        "stream",
        "5.0.0",
        "O(1) for each single item to delete in the stream, regardless of the stream size.",
    )
    .summary("Deletes entries of a stream.")
    .syntax("key id [id ...]")
    .errors(&["ERR Invalid stream ID specified as stream command argument"])];

fn xdel(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let Some(edit) = tx.write::<Stream>(&args[1])? else {
        reply.integer(0);
        return Ok(());
    };
    let ids: Result<SmallVec<[StreamId; 8]>, _> = args.from(2).iter().map(|id| parse_id(id, 0)).collect();
    let deleted = ids?.into_iter().filter(|&id| edit.value.log.delete(id)).count();
    if deleted > 0 {
        tx.changed(&args[1], events::XDEL);
        tx.count_changes(deleted - 1);
    }
    reply.integer(deleted as i64);
    Ok(())
}
