//! `LOCK.CANCEL`: ends the wait of an owner for a lock.

use crate::core::{Cancellation, ClientHandler, Handler};
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Row};
use lockwheel_store::keyspace::Tx;

const CANCELLED: CommandError = CommandError::text("UNBLOCKED LOCK.CANCEL ended the wait");

pub(super) const ROWS: &[Row<Handler>] = &[Row::new(
    "lock.cancel",
    3,
    Handler::Client(&ClientHandler::Cancel(cancel)),
)
.flags(&[Flags::WRITE, Flags::FAST])
.categories(&["lock"])
.keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
.about("lock", "7.2.0", "O(N log M), N the waits of the owner, M the waiters")
.summary("Ends the waits of an owner for a lock with an error, and returns how many there were.")
.reply("An integer: the number of waits that have ended.")
.example(&[
    "LOCK.ACQUIRE order:42 alice PX 10000",
    "LOCK.ACQUIRE order:42 bob PX 10000 ASYNC",
    "LOCK.CANCEL order:42 bob",
])
.help(&[
    "LOCK.CANCEL <key> <owner>",
    "    End the waits of an owner for a lock: they get the error UNBLOCKED. Return how many there were.",
])
.help_after("lock.acquire")
.syntax("key owner")];

/// Returns the waits of the owner for the lock.
fn cancel(tx: &Tx<'_>, args: Args<'_>) -> Cancellation {
    let waiters = tx.waiting_as(&args[1], &args[2]).map(|(_, id)| id).collect();
    Cancellation { waiters, error: CANCELLED }
}
