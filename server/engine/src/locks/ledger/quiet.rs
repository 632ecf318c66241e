//! When the keyspace may see to locks by itself: while the ledger has nobody to tell.

use super::lock_ledger::LockLedger;

impl LockLedger {
    /// Whether nothing is known beyond numbers of grants, and nobody wants to know more: that a script takes a free
    /// lock is a number then, and when it gives it back there is nothing to know but that.
    pub(super) fn is_quiet(&self) -> bool {
        let remembers = !self.causes.is_empty() || !self.losses.is_empty();
        let follows = self.history.is_some() || self.jeopardy_ms > 0 || self.declared().is_some();
        let is_more_known = !self.details.is_empty() || !self.read_leases.is_empty();
        let is_for_sessions = !self.leases.is_empty() || self.news.has_connections();
        !(remembers || follows || is_more_known || is_for_sessions)
    }
}
