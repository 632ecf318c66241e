//! XSETID.

use super::ids::parse_id;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::Stream;
use lockwheel_store::values::stream::{Log, StreamId};

const UPDATES: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[row()
    .history(&[("7.0.0", "Added the `entries_added` and `max_deleted_entry_id` arguments.")])
    .syntax(
        "key last-id [ENTRIESADDED entries-added=entries_added@7.0.0] \
             [MAXDELETEDID max-deleted-id=max_deleted_entry_id@7.0.0]",
    )
    .older(&[("7.0.0", row().arity(3).syntax("key last-id"))])];

const fn row() -> Row<DataHandler> {
    Row::new("xsetid", -3, xsetid as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["stream"])
        .keys(UPDATES)
        .about("stream", "5.0.0", "O(1)")
        .summary("Sets the greatest id that a stream has had, and the counters of its past.")
        .errors(&[
            "ERR Invalid stream ID specified as stream command argument",
            "ERR no such key",
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR entries_added must be positive",
            "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
            "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
            "ERR The ID specified in XSETID is smaller than the target stream top item",
            "ERR The entries_added specified in XSETID is smaller than the target stream length",
        ])
}

/// The data about a stream's past that the request sets.
#[derive(Debug)]
struct Past {
    last_id: StreamId,
    entries_added: Option<u64>,
    /// The greatest deleted id. 0-0 and `None` change nothing.
    max_deleted_id: Option<StreamId>,
}

impl Past {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let last_id = parse_id(&args[2], 0)?;
        let mut past = Past { last_id, entries_added: None, max_deleted_id: None };
        for at in (3..args.len()).step_by(2) {
            let has_more = at + 1 < args.len();
            if has_more && args.is(at, "entriesadded") {
                let added = u64::try_from(args.int(at + 1)?);
                past.entries_added = Some(added.map_err(|_| errors::ENTRIES_ADDED_NEGATIVE)?);
            } else if has_more && args.is(at, "maxdeletedid") {
                let max_deleted_id = parse_id(&args[at + 1], 0)?;
                if last_id < max_deleted_id {
                    return Err(errors::ID_BELOW_GIVEN_MAX_DELETED);
                }
                past.max_deleted_id = Some(max_deleted_id);
            } else {
                return Err(errors::SYNTAX);
            }
        }
        Ok(past)
    }

    fn check(&self, log: &Log) -> Result<(), CommandError> {
        if self.last_id < log.max_deleted_id() {
            return Err(errors::ID_BELOW_MAX_DELETED);
        }
        if !log.is_empty() {
            if self.last_id < log.last_entry_id() {
                return Err(errors::ID_BELOW_TOP);
            }
            if self.entries_added.is_some_and(|added| added < log.len() as u64) {
                return Err(errors::ENTRIES_ADDED_BELOW_LENGTH);
            }
        }
        Ok(())
    }
}

fn xsetid(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let past = Past::parse(args)?;
    let edit = tx.write::<Stream>(&args[1])?.ok_or(errors::NO_SUCH_KEY)?;
    let log = &mut edit.value.log;
    past.check(log)?;
    let entries_added = past.entries_added.unwrap_or(log.entries_added());
    let max_deleted_id = past.max_deleted_id.filter(|&id| id > StreamId::MIN).unwrap_or(log.max_deleted_id());
    log.set_counters(past.last_id, entries_added, max_deleted_id);
    reply.ok();
    tx.changed_quietly(&args[1], events::XSETID);
    Ok(())
}
