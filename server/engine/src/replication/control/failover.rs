//! A hand-over of the master's part (FAILOVER): its steps as effects.

use super::super::effect::ReplicationEffect;
use super::super::failover::FailoverEffect;
use super::super::request::FailoverRequest;
use super::ReplicationControl;

impl ReplicationControl<'_> {
    /// Begins to hand the master's part over: from now on nothing is written.
    pub(crate) fn begin_failover(&mut self, request: FailoverRequest) {
        let (now_ms, order) = (self.clock.now().monotonic_ms(), self.keyspace.next_order());
        self.history.begin_failover(request, now_ms, self.clock.timers_mut(), order);
        self.effects.push(ReplicationEffect::PauseWrites(true));
    }

    /// Follows the heir if it has said already that it has everything. Otherwise it is asked to say so at once.
    pub(crate) fn look_at_heir_or_ask(&mut self) {
        match self.history.look_at_heir(self.clock.timers_mut()) {
            None => self.ask_replicas(),
            effect => self.go_on_with_failover(effect),
        }
    }

    /// Looks whether the heir has everything.
    pub(super) fn look_at_heir(&mut self) {
        let effect = self.history.look_at_heir(self.clock.timers_mut());
        self.go_on_with_failover(effect);
    }

    /// Looks at the time for the heir, which is over.
    pub(crate) fn expire_failover(&mut self) {
        let effect = self.history.expire_failover(self.clock.timers_mut());
        self.go_on_with_failover(effect);
    }

    /// Lets the master stay the master, or be it again.
    pub(crate) fn abort_failover(&mut self, why: &str) {
        let effect = self.history.abort_failover(why, self.clock.timers_mut());
        self.go_on_with_failover(effect);
    }

    /// Ends the hand-over: the heir is the master, or everything begins anew.
    pub(crate) fn end_failover(&mut self) {
        let effect = self.history.end_failover(self.clock.timers_mut());
        self.go_on_with_failover(effect);
    }

    fn go_on_with_failover(&mut self, effect: Option<FailoverEffect>) {
        match effect {
            None => {}
            Some(FailoverEffect::Follow { host, port }) => {
                self.effects.push(ReplicationEffect::Follow { host, port });
            }
            Some(FailoverEffect::End { unfollows }) => {
                if unfollows {
                    self.effects.push(ReplicationEffect::Unfollow);
                }
                self.effects.push(ReplicationEffect::PauseWrites(false));
            }
        }
    }
}
