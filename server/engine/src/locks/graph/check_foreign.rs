//! The deadlock check of a request that is about to wait, against clients that wait as Redisson does.

use super::super::channel_waiters::listened_channels;
use super::foreign::ForeignWaits;
use super::listeners::Listeners;
use super::search::{Waiting, check_waiting};
use crate::pubsub::PubSub;
use crate::spec::CommandError;
use lockwheel_store::keyspace::Tx;

/// Checks that a request that is about to wait closes no cycle with waiting Redisson owners. `inferred` adds the waits
/// that are only inferred from the history. The error names the cycle. O(n log n), n the owners and locks that can be
/// reached, plus the entries of the history for inferred waits.
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
