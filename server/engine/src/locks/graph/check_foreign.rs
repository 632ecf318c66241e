//! The check of a request that is about to wait, with those who wait as Redisson does.

use super::super::channel_waiters::listened_channels;
use super::foreign::ForeignWaits;
use super::listeners::Listeners;
use super::search::{Waiting, check_waiting};
use crate::pubsub::PubSub;
use crate::spec::CommandError;
use lockwheel_store::keyspace::Tx;

/// Checks that a request that is about to wait closes no cycle in which owners of Redisson's wait; of those that are
/// only inferred, if `inferred`, as the history has it.
///
/// The error names the cycle. O(n log n), n the owners and locks that can be reached, and of inferred waits the entries
/// of the history; who listens otherwise does not matter.
pub(crate) fn check_foreign(
    tx: &mut Tx<'_>,
    pubsub: &PubSub,
    waiting: Waiting<'_>,
    inferred: bool,
) -> Result<(), CommandError> {
    if listened_channels(pubsub).next().is_none() {
        return Ok(());
    }
    let listeners = inferred.then(|| Listeners::of_tx(tx, None));
    let foreign = ForeignWaits::of_all(tx, pubsub, listeners.as_ref());
    if foreign.len() == 0 { Ok(()) } else { check_waiting(tx, waiting, &foreign) }
}
