//! What every invariant is.

use super::super::history::Entry;
use super::finding::Finding;
use super::locks::View;
use crate::time::Now;

/// Something that must hold of locks.
pub(super) trait Invariant {
    /// Looks at an entry, which the locks have not taken in yet.
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>);

    /// Looks at the locks after the last entry.
    fn end(&mut self, _: View<'_>, _: Now, _: &mut Vec<Finding>) {}
}
