//! What every invariant is.

use super::super::history::Entry;
use super::findings::Findings;
use super::locks::View;
use crate::time::Now;
use std::fmt::Debug;

/// Something that must hold of locks.
pub(super) trait Invariant: Debug + Send {
    /// Looks at an entry, which the locks have not taken in yet.
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings);

    /// Looks at the locks after the last entry.
    fn end(&mut self, _: View<'_>, _: Now, _: &mut Findings) {}
}
