//! The numbers of grants and the holds granted by other servers, when a server takes over.

use super::history_feed::MergedHistory;
use super::inheritance::{inherit_holds, receive_holds};
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;

/// Access to the grants of a server at an instant.
pub(crate) struct Grants<'e> {
    keyspace: &'e mut Keyspace,
    now: Now,
}

impl<'e> Grants<'e> {
    pub(crate) fn new(keyspace: &'e mut Keyspace, now: Now) -> Self {
        Grants { keyspace, now }
    }

    pub(crate) fn last_number(&self) -> u64 {
        self.keyspace.last_number()
    }

    /// Makes the next grants use numbers above this one.
    pub(crate) fn go_on_after(&mut self, last: u64) {
        self.keyspace.numbers_go_on_after(last);
    }

    pub(crate) fn restart_numbers(&mut self) {
        self.keyspace.restart_numbers();
    }

    pub(crate) fn inherit_holds(&mut self, history: &MergedHistory) {
        inherit_holds(self.keyspace, history, self.now);
    }

    /// Takes over the holds of keys that MIGRATE has brought, in the same way.
    pub(crate) fn receive_holds(&mut self, history: &MergedHistory) {
        receive_holds(self.keyspace, history, self.now);
    }
}
