//! `LOCK.CANCEL`: ends the wait of an owner for a lock.

use crate::core::{Call, Engine, Handler};
use crate::locks::HistoryCause;
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;

const CANCELLED: CommandError = CommandError::text("UNBLOCKED wait ended by LOCK.CANCEL");

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("lock.cancel", 3, Handler::Engine(cancel))
    .flags(&[Flags::WRITE, Flags::FAST])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(N log M), N the waits of the owner, M the waiters")
    .summary("Ends the waits of an owner for a lock with an error, and returns how many there were.")
    .help(&[
        "LOCK.CANCEL <key> <owner>",
        "    End the waits of an owner for a lock: they get the error UNBLOCKED. Return how many there were.",
    ])
    .help_after("lock.acquire")
    .syntax("key owner")];

fn cancel(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let tx = engine.keyspace.tx(call.db, engine.clock().now());
    let waiting: Vec<u64> = tx.waiting_as(&args[1], &args[2]).map(|(_, id)| id).collect();
    let cancelled =
        waiting.into_iter().filter(|&id| engine.cancel_wait(id, &CANCELLED, HistoryCause::Unblocked));
    reply.integer(cancelled.count() as i64);
    Ok(())
}
