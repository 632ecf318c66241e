//! A master hands its part over to a replica that has everything (FAILOVER).

use super::super::engine::Engine;
use crate::clock::{Timer, TimerKind};
use crate::replication::{CoordinatedFailover, CoordinatedFailoverState, FailoverRequest};

/// The name of a replica that is to take over.
fn name_of(replica: Option<&(String, u16)>) -> String {
    replica.map_or_else(|| "any replica".to_owned(), |(host, port)| format!("{host}:{port}"))
}

impl Engine {
    /// Hands the master's part over to the replica at this address, or to the first that has everything. Until then
    /// nothing is written. When it has not happened within `timeout_ms` of the monotonic clock, the replica that
    /// `is_forced` to takes over with what it has; otherwise the master stays the master.
    pub(super) fn begin_failover(&mut self, request: FailoverRequest) {
        let FailoverRequest { to, timeout_ms, is_forced } = request;
        self.replicate();
        tracing::info!("FAILOVER requested to {}.", name_of(to.as_ref()));
        let timer = Timer { kind: TimerKind::Failover, client: 0, order: self.keyspace.next_order() };
        let now_ms = self.clock.now().monotonic_ms();
        let timeout = timeout_ms.map(|ms| self.clock.timers_mut().insert(timer, now_ms.saturating_add(ms)));
        let state = CoordinatedFailoverState::WaitsForSync;
        self.replication.failover = Some(CoordinatedFailover { state, to, is_forced, timeout });
        self.pauses.set_failover(true);
        self.follow_pauses();
        // The heir may have said that it has everything, and says it at once otherwise.
        self.look_at_failover();
        if self.replication.failover.as_ref().is_some_and(|failover| failover.state == state) {
            self.request_acknowledgements();
        }
    }

    /// A replica has said how far it is: it may have everything.
    pub(super) fn look_at_failover(&mut self) {
        let waits =
            |failover: &&CoordinatedFailover| failover.state == CoordinatedFailoverState::WaitsForSync;
        let Some(failover) = self.replication.failover.as_ref().filter(waits) else { return };
        if let Some((host, port)) = self.replication.synced(failover.to.as_ref()) {
            tracing::info!("Failover target {host}:{port} is synced, failing over.");
            self.follow_heir(host, port);
        }
    }

    fn follow_heir(&mut self, host: String, port: u16) {
        let Some(failover) = self.replication.failover.as_mut() else { return };
        failover.state = CoordinatedFailoverState::InProgress;
        failover.to = Some((host.clone(), port));
        failover.timeout.take().into_iter().for_each(|timeout| self.clock.timers_mut().cancel(timeout));
        self.follow_master(host, port);
    }

    /// Its time is over.
    pub(in crate::core) fn failover_due(&mut self) {
        let Some(failover) = &mut self.replication.failover else { return };
        // Its timer has fired.
        failover.timeout = None;
        match failover.to.clone().filter(|_| failover.is_forced) {
            Some((host, port)) => {
                tracing::info!("FAILOVER to {host}:{port} time out exceeded, failing over.");
                self.follow_heir(host, port);
            }
            None => self.abort_failover("Replica never caught up before timeout"),
        }
    }

    /// The master stays the master, or is it again.
    pub(crate) fn abort_failover(&mut self, why: &str) {
        let Some(failover) = &self.replication.failover else { return };
        tracing::info!("FAILOVER to {} aborted: {why}", name_of(failover.to.as_ref()));
        if failover.state == CoordinatedFailoverState::InProgress {
            self.unfollow_master();
        }
        self.end_failover();
    }

    /// Who was paused goes on.
    pub(in crate::core) fn end_failover(&mut self) {
        if let Some(failover) = self.replication.failover.take() {
            failover.timeout.into_iter().for_each(|timeout| self.clock.timers_mut().cancel(timeout));
            self.pauses.set_failover(false);
            self.follow_pauses();
        }
    }
}
