//! A coordinated failover (FAILOVER): its steps as effects.

use super::super::effect::ReplicationEffect;
use super::super::failover::FailoverEffect;
use super::super::request::FailoverRequest;
use super::ReplicationControl;

impl ReplicationControl<'_> {
    /// Begins a failover. From now on no client can write.
    pub(crate) fn begin_failover(&mut self, request: FailoverRequest) {
        let (now_ms, order) = (self.clock.now().monotonic_ms(), self.keyspace.next_order());
        self.history.begin_failover(request, now_ms, self.clock.timers_mut(), order);
        self.effects.push(ReplicationEffect::PauseWrites(true));
    }

    /// Follows the successor if it has acknowledged the whole stream, or else asks the replicas for that.
    pub(crate) fn check_successor_or_ask(&mut self) {
        match self.history.check_successor(self.clock.timers_mut()) {
            None => self.ask_replicas(),
            effect => self.go_on_with_failover(effect),
        }
    }

    /// Checks whether the successor has the whole stream.
    pub(super) fn check_successor(&mut self) {
        let effect = self.history.check_successor(self.clock.timers_mut());
        self.go_on_with_failover(effect);
    }

    /// Handles the end of the time that the successor has.
    pub(crate) fn expire_failover(&mut self) {
        let effect = self.history.expire_failover(self.clock.timers_mut());
        self.go_on_with_failover(effect);
    }

    /// Aborts the failover: the server stays the master, or becomes it again.
    pub(crate) fn abort_failover(&mut self, why: &str) {
        let effect = self.history.abort_failover(why, self.clock.timers_mut());
        self.go_on_with_failover(effect);
    }

    /// Ends the failover, since the successor is the master or replication is reset.
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
