//! The interface of an invariant.

use super::super::history::Entry;
use super::findings::Findings;
use super::locks::View;
use lockwheel_store::time::Now;
use std::fmt::Debug;

/// A rule that locks must obey.
pub(super) trait Invariant: Debug + Send {
    /// Does long work before an entry, or before the end, in at most `steps` steps. Returns whether the work is done.
    /// Until it is, the locks do not change.
    fn prepare(
        &mut self,
        _: View<'_>,
        _next: Option<(u64, &Entry)>,
        _steps: &mut u64,
        _: &mut Findings,
    ) -> bool {
        true
    }

    /// Examines an entry that the locks have not taken in yet.
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings);

    /// Examines the locks after the last entry.
    fn end(&mut self, _: View<'_>, _: Now, _: &mut Findings) {}

    /// Returns the approximate memory of the invariant's state in bytes. O(1).
    fn memory(&self) -> usize {
        0
    }
}
