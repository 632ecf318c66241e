//! What every invariant is.

use super::super::history::Entry;
use super::findings::Findings;
use super::locks::View;
use lockwheel_store::time::Now;
use std::fmt::Debug;

/// Something that must hold of locks.
pub(super) trait Invariant: Debug + Send {
    /// Does what takes long before it looks at an entry, or at the locks after the last one, in so many steps at most;
    /// whether that is done. Until it is, the locks stay as they are.
    fn prepare(
        &mut self,
        _: View<'_>,
        _next: Option<(u64, &Entry)>,
        _steps: &mut u64,
        _: &mut Findings,
    ) -> bool {
        true
    }

    /// Looks at an entry, which the locks have not taken in yet.
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings);

    /// Looks at the locks after the last entry.
    fn end(&mut self, _: View<'_>, _: Now, _: &mut Findings) {}

    /// Bytes of memory of what it has come to know, about. O(1).
    fn memory(&self) -> usize {
        0
    }
}
