//! The control of a server's shutdown, and the effects that it asks for.

use super::{Ending, NONE_IN_PROGRESS, Shutdown};
use crate::clock::EngineClock;
use crate::config::Config;
use crate::replication::Replication;
use crate::spec::CommandError;
use lockwheel_store::keyspace::Keyspace;

/// An effect on the rest of the engine when a shutdown begins or is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShutdownEffect {
    /// Pauses the writes of clients, or ends that pause.
    PauseWrites(bool),
    AskReplicas,
    /// Ends the server in this manner. If its keys cannot be saved, the server may go on.
    End(Ending),
    /// Answers clients that have sent SHUTDOWN that the server goes on.
    Refuse,
}

/// The shutdown of a server, with the parts of the engine that decide about it.
pub(crate) struct ShutdownControl<'e> {
    pub(crate) shutdown: &'e mut Shutdown,
    pub(crate) clock: &'e mut EngineClock,
    /// The keyspace, which gives timers their order.
    pub(crate) keyspace: &'e mut Keyspace,
    pub(crate) config: &'e Config,
    pub(crate) replication: &'e Replication,
    /// Whether the server is one of several in its process.
    pub(crate) is_joined: bool,
    pub(crate) effects: Vec<ShutdownEffect>,
}

impl ShutdownControl<'_> {
    /// Ends the server, or begins to wait for its replicas. If several servers share a process, the server ends at
    /// once, as if the process was killed: while the clock stands still, replicas would never catch up.
    pub(crate) fn begin(&mut self, ending: Ending) {
        let timeout_ms = self.config.shutdown.timeout.saturating_mul(1000);
        if ending.now || timeout_ms <= 0 || self.is_joined || self.replication.lagging() == 0 {
            return self.effects.push(ShutdownEffect::End(ending));
        }
        tracing::info!("Waiting for replicas before shutting down.");
        let until_ms = self.clock.system().monotonic_ms().saturating_add(timeout_ms);
        self.shutdown.wait(ending, until_ms, self.clock.timers_mut(), self.keyspace.next_order());
        self.effects.extend([ShutdownEffect::PauseWrites(true), ShutdownEffect::AskReplicas]);
    }

    /// Aborts the shutdown for a client, or fails if the server is not waiting for replicas.
    pub(crate) fn abort(&mut self) -> Result<(), CommandError> {
        if !self.shutdown.awaits_replicas() {
            return Err(NONE_IN_PROGRESS);
        }
        tracing::warn!("Shutdown manually aborted.");
        self.forget();
        Ok(())
    }

    /// Aborts the shutdown, if it has begun.
    pub(crate) fn forget(&mut self) {
        if self.shutdown.forget(self.clock.timers_mut()) {
            self.effects.extend([ShutdownEffect::PauseWrites(false), ShutdownEffect::Refuse]);
        }
    }

    /// Ends the server if all replicas have everything. Called when a replica has made progress or is gone.
    pub(crate) fn look(&mut self) {
        if self.shutdown.awaits_replicas() && self.replication.lagging() == 0 {
            self.finish();
        }
    }

    /// Ends the server after the timeout for replicas.
    pub(crate) fn expire(&mut self) {
        self.shutdown.expire();
        if self.shutdown.has_begun() {
            let (lagging, all) = (self.replication.lagging(), self.replication.replicas().len());
            tracing::info!("{} of {all} replicas are in sync when shutting down.", all - lagging.min(all));
            self.finish();
        }
    }

    /// Ends the server. Writes stay paused while the threads around the engine end.
    fn finish(&mut self) {
        let ending = self.shutdown.finish(self.clock.timers_mut());
        self.effects.extend(ending.map(ShutdownEffect::End));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_store::keyspace::Rng;
    use lockwheel_store::time::Now;

    fn effects(
        shutdown: &mut Shutdown,
        change: impl FnOnce(&mut ShutdownControl<'_>),
    ) -> Vec<ShutdownEffect> {
        let config = Config::default();
        let mut control = ShutdownControl {
            shutdown,
            clock: &mut EngineClock::new(config.clock(Now::default()), Now::default()),
            keyspace: &mut Keyspace::new(1, 7),
            config: &config,
            replication: &Replication::new(&mut Rng::new(7)),
            is_joined: false,
            effects: Vec::new(),
        };
        change(&mut control);
        control.effects
    }

    #[test]
    fn shutdown_is_immediate_if_replicas_have_everything() {
        let (mut shutdown, ending) = (Shutdown::default(), Ending { saves: true, ..Ending::default() });
        assert_eq!(effects(&mut shutdown, |control| control.begin(ending)), [ShutdownEffect::End(ending)]);
        assert!(!shutdown.has_begun());
        assert_eq!(effects(&mut shutdown, |control| assert!(control.abort().is_err())), []);
        assert_eq!(effects(&mut shutdown, |control| control.forget()), []);
    }

    #[test]
    fn a_waiting_shutdown_ends_at_its_timeout_or_is_aborted() {
        for is_aborted in [false, true] {
            let (mut shutdown, ending) = (Shutdown::default(), Ending::default());
            effects(&mut shutdown, |control| {
                let order = control.keyspace.next_order();
                control.shutdown.wait(ending, 500, control.clock.timers_mut(), order);
                if is_aborted {
                    assert!(control.abort().is_ok());
                    assert_eq!(control.effects, [ShutdownEffect::PauseWrites(false), ShutdownEffect::Refuse]);
                } else {
                    control.expire();
                    assert_eq!(control.effects, [ShutdownEffect::End(ending)]);
                }
            });
        }
    }
}
