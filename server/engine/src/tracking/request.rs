//! Requests of CLIENT TRACKING ON, and their checks.

use super::mode::{TrackedClient, TrackingMode};
use super::overlap::{Overlap, find_overlap};
use crate::spec::CommandError;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackingRequest<'a> {
    pub(crate) mode: TrackingMode,
    /// The client that is notified instead; 0: none.
    pub(crate) redirect: u64,
    pub(crate) prefixes: &'a [&'a [u8]],
}

/// Checks whether a client that tracks keys like this, or not at all, may ask for this. Fails for a request that
/// contradicts itself, or an earlier one.
pub(super) fn check(
    client: Option<&TrackedClient>,
    request: &TrackingRequest<'_>,
) -> Result<(), CommandError> {
    let fails = |text| Err(CommandError::text(text));
    let (new, old) = (request.mode, client.map_or(TrackingMode::default(), |client| client.mode));
    let (either, is_bcast) =
        (TrackingMode::OPTIN.union(TrackingMode::OPTOUT), new.contains(TrackingMode::BCAST));
    if !is_bcast && !request.prefixes.is_empty() {
        return fails("ERR PREFIX option requires BCAST mode to be enabled");
    }
    if client.is_some_and(|client| client.is_on) && is_bcast != old.contains(TrackingMode::BCAST) {
        return fails(
            "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it \
             with a different mode.",
        );
    }
    if is_bcast && new.intersects(either) {
        return fails("ERR OPTIN and OPTOUT are not compatible with BCAST");
    }
    if new.contains(either) {
        return fails("ERR You can't specify both OPTIN mode and OPTOUT mode");
    }
    if (new.union(old)).contains(either) {
        return fails(
            "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it \
             with a different mode.",
        );
    }
    let none = BTreeSet::new();
    let existing = client.map_or(&none, |client| &client.prefixes);
    let Some(overlap) = find_overlap(existing, request.prefixes).filter(|_| is_bcast) else { return Ok(()) };
    let (new, kind, other) = match overlap {
        Overlap::Existing(new, other) => (new, "an existing", other),
        Overlap::Provided(new, other) => (new, "another provided", other),
    };
    let kind = format!("' overlaps with {kind} prefix '");
    let end = b"'. Prefixes for a single client must not overlap.";
    Err(CommandError::new([b"ERR Prefix '", new, kind.as_bytes(), other, end].concat()))
}
