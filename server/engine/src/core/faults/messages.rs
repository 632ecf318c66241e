//! Messages that a rule loses.

use super::super::engine::Engine;
use super::acted::ActedOn;

impl Engine {
    /// Takes those out of the receivers of a message for whom a rule loses it.
    #[cold]
    pub(in crate::core) fn lose_message(&mut self, channel: &[u8], mut receivers: Vec<&mut Vec<u64>>) {
        let all: Vec<u64> = receivers.iter().flat_map(|ids| ids.iter().copied()).collect();
        let Some(rule) = self.rule_judge().loss_of(channel, &all) else { return };
        // The flags stay until the request has ended: more of its messages may come.
        self.rule_acted(rule, ActedOn::Message);
        let judge = self.rule_judge();
        receivers.iter_mut().for_each(|ids| ids.retain(|id| !judge.is_lost_for(rule, *id)));
    }
}
