//! A master hands its part over to a replica that has everything (FAILOVER).

use super::super::engine::Engine;
use crate::replication::{FailoverEffect, FailoverRequest};

impl Engine {
    /// Begins to hand the master's part over: from now on nothing is written.
    pub(super) fn begin_failover(&mut self, request: FailoverRequest) {
        self.replicate();
        let (now_ms, order) = (self.clock.now().monotonic_ms(), self.keyspace.next_order());
        self.replication.begin_failover(request, now_ms, self.clock.timers_mut(), order);
        self.pauses.set_failover(true);
        self.follow_pauses();
        // The heir may have said that it has everything, and says it at once otherwise.
        match self.replication.look_at_heir(self.clock.timers_mut()) {
            None => self.request_acknowledgements(),
            effect => self.follow_failover(effect),
        }
    }

    /// Does what is to be done next to hand the master's part over, or not to.
    pub(super) fn follow_failover(&mut self, effect: Option<FailoverEffect>) {
        match effect {
            None => {}
            Some(FailoverEffect::Follow { host, port }) => self.follow_master(host, port),
            Some(FailoverEffect::End { unfollows }) => {
                if unfollows {
                    self.unfollow_master();
                }
                self.pauses.set_failover(false);
                self.follow_pauses();
            }
        }
    }

    /// Looks at the time for the heir, which is over.
    pub(in crate::core) fn failover_due(&mut self) {
        let effect = self.replication.expire_failover(self.clock.timers_mut());
        self.follow_failover(effect);
    }

    /// Ends the hand-over: the heir is the master, or everything begins anew.
    pub(in crate::core) fn end_failover(&mut self) {
        let effect = self.replication.end_failover(self.clock.timers_mut());
        self.follow_failover(effect);
    }
}
