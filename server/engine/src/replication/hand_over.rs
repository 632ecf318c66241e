//! A master's part is handed over to one of its replicas (FAILOVER).

use super::failover::{CoordinatedFailover, CoordinatedFailoverState, FailoverEffect};
use super::request::FailoverRequest;
use super::state::Replication;
use crate::clock::{Timer, TimerKind, Timers};
use lockwheel_store::keyspace::Order;

/// The name of a replica that is to take over.
fn name_of(replica: Option<&(String, u16)>) -> String {
    replica.map_or_else(|| "any replica".to_owned(), |(host, port)| format!("{host}:{port}"))
}

impl Replication {
    /// Whether the master's part is being handed over.
    pub(crate) fn fails_over(&self) -> bool {
        self.failover.is_some()
    }

    /// Whether the heir is to say that it has everything.
    fn awaits_heir(&self) -> bool {
        let waits = |failover: &CoordinatedFailover| failover.state == CoordinatedFailoverState::WaitsForSync;
        self.failover.as_ref().is_some_and(waits)
    }

    /// The name that INFO has for how far the master's part is handed over.
    pub(crate) fn failover_state(&self) -> &'static str {
        match self.failover.as_ref().map(|failover| failover.state) {
            None => "no-failover",
            Some(CoordinatedFailoverState::WaitsForSync) => "waiting-for-sync",
            Some(CoordinatedFailoverState::InProgress) => "failover-in-progress",
        }
    }

    /// Begins to hand the master's part over to the replica at an address, or to the first that has everything. Until
    /// then nothing is to be written. When it has not happened in time, from this instant of the monotonic clock on,
    /// the replica that is forced to takes over with what it has; otherwise the master stays the master.
    pub(crate) fn begin_failover(
        &mut self,
        FailoverRequest { to, timeout_ms, is_forced }: FailoverRequest,
        now_ms: i64,
        timers: &mut Timers,
        order: Order,
    ) {
        tracing::info!("FAILOVER requested to {}.", name_of(to.as_ref()));
        let timer = Timer { kind: TimerKind::Failover, client: 0, order };
        let timeout = timeout_ms.map(|ms| timers.insert(timer, now_ms.saturating_add(ms)));
        let state = CoordinatedFailoverState::WaitsForSync;
        self.failover = Some(CoordinatedFailover { state, to, is_forced, timeout });
    }

    /// Looks whether the heir has everything.
    pub(crate) fn look_at_heir(&mut self, timers: &mut Timers) -> Option<FailoverEffect> {
        if !self.awaits_heir() {
            return None;
        }
        let (host, port) = self.synced(self.failover.as_ref()?.to.as_ref())?;
        tracing::info!("Failover target {host}:{port} is synced, failing over.");
        self.follow_heir(host, port, timers)
    }

    fn follow_heir(&mut self, host: String, port: u16, timers: &mut Timers) -> Option<FailoverEffect> {
        let failover = self.failover.as_mut()?;
        failover.state = CoordinatedFailoverState::InProgress;
        failover.to = Some((host.clone(), port));
        failover.timeout.take().into_iter().for_each(|timeout| timers.cancel(timeout));
        Some(FailoverEffect::Follow { host, port })
    }

    /// Ends the time for the heir: the timer has fired.
    pub(crate) fn expire_failover(&mut self, timers: &mut Timers) -> Option<FailoverEffect> {
        let failover = self.failover.as_mut()?;
        failover.timeout = None;
        match failover.to.clone().filter(|_| failover.is_forced) {
            Some((host, port)) => {
                tracing::info!("FAILOVER to {host}:{port} time out exceeded, failing over.");
                self.follow_heir(host, port, timers)
            }
            None => self.abort_failover("Replica never caught up before timeout", timers),
        }
    }

    /// Lets the master stay the master, or be it again.
    pub(crate) fn abort_failover(&mut self, why: &str, timers: &mut Timers) -> Option<FailoverEffect> {
        let failover = self.failover.as_ref()?;
        tracing::info!("FAILOVER to {} aborted: {why}", name_of(failover.to.as_ref()));
        let unfollows = failover.state == CoordinatedFailoverState::InProgress;
        self.end_failover(timers)?;
        Some(FailoverEffect::End { unfollows })
    }

    /// Forgets that the master's part is handed over: it has been, or everything begins anew.
    pub(crate) fn end_failover(&mut self, timers: &mut Timers) -> Option<FailoverEffect> {
        let failover = self.failover.take()?;
        failover.timeout.into_iter().for_each(|timeout| timers.cancel(timeout));
        Some(FailoverEffect::End { unfollows: false })
    }
}
