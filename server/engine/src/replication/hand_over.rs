//! The coordinated failover (FAILOVER): a master hands its role over to one of its replicas.

use super::failover::{CoordinatedFailover, CoordinatedFailoverState, FailoverEffect};
use super::request::FailoverRequest;
use super::state::Replication;
use crate::clock::{Timer, TimerKind, Timers};
use lockwheel_store::keyspace::Order;

/// Returns the name of the successor for the log.
fn name_of(replica: Option<&(String, u16)>) -> String {
    replica.map_or_else(|| "any replica".to_owned(), |(host, port)| format!("{host}:{port}"))
}

impl Replication {
    pub(crate) fn fails_over(&self) -> bool {
        self.failover.is_some()
    }

    /// Whether the successor must still acknowledge the whole stream.
    fn awaits_successor(&self) -> bool {
        let waits = |failover: &CoordinatedFailover| failover.state == CoordinatedFailoverState::WaitsForSync;
        self.failover.as_ref().is_some_and(waits)
    }

    /// Returns the name that INFO has for the progress of the failover.
    pub(crate) fn failover_state(&self) -> &'static str {
        match self.failover.as_ref().map(|failover| failover.state) {
            None => "no-failover",
            Some(CoordinatedFailoverState::WaitsForSync) => "waiting-for-sync",
            Some(CoordinatedFailoverState::InProgress) => "failover-in-progress",
        }
    }

    /// Begins a failover to the replica at an address, or to the first one that has the whole stream. No client may
    /// write until then. The timeout counts from `now_ms`, on the monotonic clock. When it ends, a forced failover
    /// continues with the data that the replica has. Otherwise the master stays the master.
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

    /// Checks whether the successor has the whole stream.
    pub(crate) fn check_successor(&mut self, timers: &mut Timers) -> Option<FailoverEffect> {
        if !self.awaits_successor() {
            return None;
        }
        let (host, port) = self.synced(self.failover.as_ref()?.to.as_ref())?;
        tracing::info!("Failover target {host}:{port} is synced, failing over.");
        self.begin_to_follow_successor(host, port, timers)
    }

    fn begin_to_follow_successor(
        &mut self,
        host: String,
        port: u16,
        timers: &mut Timers,
    ) -> Option<FailoverEffect> {
        let failover = self.failover.as_mut()?;
        failover.state = CoordinatedFailoverState::InProgress;
        failover.to = Some((host.clone(), port));
        failover.timeout.take().into_iter().for_each(|timeout| timers.cancel(timeout));
        Some(FailoverEffect::Follow { host, port })
    }

    /// Ends the time for the successor: the timer has fired.
    pub(crate) fn expire_failover(&mut self, timers: &mut Timers) -> Option<FailoverEffect> {
        let failover = self.failover.as_mut()?;
        failover.timeout = None;
        match failover.to.clone().filter(|_| failover.is_forced) {
            Some((host, port)) => {
                tracing::info!("FAILOVER to {host}:{port} time out exceeded, failing over.");
                self.begin_to_follow_successor(host, port, timers)
            }
            None => self.abort_failover("Replica never caught up before timeout", timers),
        }
    }

    /// Aborts the failover: the server stays the master, or becomes it again.
    pub(crate) fn abort_failover(&mut self, why: &str, timers: &mut Timers) -> Option<FailoverEffect> {
        let failover = self.failover.as_ref()?;
        tracing::info!("FAILOVER to {} aborted: {why}", name_of(failover.to.as_ref()));
        let unfollows = failover.state == CoordinatedFailoverState::InProgress;
        self.end_failover(timers)?;
        Some(FailoverEffect::End { unfollows })
    }

    /// Forgets the failover, which has succeeded or is reset.
    pub(crate) fn end_failover(&mut self, timers: &mut Timers) -> Option<FailoverEffect> {
        let failover = self.failover.take()?;
        failover.timeout.into_iter().for_each(|timeout| timers.cancel(timeout));
        Some(FailoverEffect::End { unfollows: false })
    }
}
