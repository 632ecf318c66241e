//! A fault has acted.

use super::super::engine::Engine;
use crate::faults::RuleId;

impl Engine {
    /// A rule has acted on what this client has sent, or on a message to clients. All acts pass here.
    pub(super) fn rule_acted(&mut self, rule: RuleId, _client: Option<u64>) {
        self.faults.rules.count_hit(rule);
    }
}
