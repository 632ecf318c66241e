//! A server that is to end (SHUTDOWN, SIGTERM, SIGINT) lets its replicas get what they lack: until then, or until
//! `shutdown-timeout` is over, nothing is written.

use super::engine::{Engine, Retry};
use super::progress::Stop;
use super::shutdown_state::{EndSignal, Ending, ShuttingDown};
use crate::clock::{Timer, TimerKind};
use crate::spec::CommandError;

/// What is answered when the server goes on, since something could not be saved or somebody has said so.
const NOT_ENDED: CommandError = CommandError::text("ERR Errors trying to SHUTDOWN. Check logs.");

impl Engine {
    /// Ends the server, at once if all replicas have everything; whether it does. Where it waits already, it goes on
    /// to.
    ///
    /// # Errors
    /// [`NOT_ENDED`]: what was to be saved could not be.
    pub(crate) fn shut_down(&mut self, ending: Ending) -> Result<bool, CommandError> {
        if self.pausing.shutting_down.is_some() {
            return Ok(false);
        }
        tracing::info!("User requested shutdown...");
        self.replicate();
        let timeout_ms = self.config.shutdown.timeout.saturating_mul(1000);
        // Servers of one process end as if that were killed: on a clock that stands, replicas would never catch up.
        let waits =
            !ending.now && timeout_ms > 0 && !self.member.is_joined() && self.replication.lagging() > 0;
        if !waits {
            return self.end(ending).map(|()| true);
        }
        tracing::info!("Waiting for replicas before shutting down.");
        let timer = Timer { kind: TimerKind::Shutdown, client: 0, order: self.keyspace.next_order() };
        let until_ms = self.clock.system().monotonic_ms().saturating_add(timeout_ms);
        let timeout = Some(self.clock.timers_mut().insert(timer, until_ms));
        self.pausing.shutting_down = Some(ShuttingDown { ending, timeout, until_ms });
        self.own_pause_changed(true);
        self.request_acknowledgements();
        Ok(false)
    }

    /// A signal ends the server, as the configuration says; a second one while it waits for replicas, at once.
    pub fn signalled(&mut self, signal: EndSignal) {
        let words = match signal {
            EndSignal::Terminate => &self.config.shutdown.on_sigterm,
            EndSignal::Interrupt => &self.config.shutdown.on_sigint,
        };
        let ending = Ending::of(words);
        if self.pausing.shutting_down.is_some() {
            self.stop = Some(Stop::Shutdown);
        } else if self.shut_down(ending).is_err() {
            tracing::warn!("A signal came to end the server, but its keys could not be saved: it goes on.");
        }
        self.commit();
    }

    /// In how many milliseconds it ends at the latest, if it waits for replicas.
    pub(crate) fn shuts_down_in_ms(&self) -> Option<i64> {
        let until_ms = self.pausing.shutting_down.as_ref()?.until_ms;
        Some((until_ms - self.clock.system().monotonic_ms()).max(0))
    }

    /// Whether a client has asked for the end, and waits for it.
    pub(super) fn awaits_end(&self, client: u64) -> bool {
        self.parked.get(client).is_some_and(|blocked| matches!(blocked.retry, Retry::Ended))
    }

    /// It does not end after all; whether it was to.
    pub(crate) fn abort_shutdown(&mut self) -> bool {
        let waits = self.waits_for_replicas();
        if waits {
            tracing::warn!("Shutdown manually aborted.");
            self.forget_shutdown();
        }
        waits
    }

    /// A replica has more than before, or is gone: all may have everything.
    pub(super) fn look_at_shutdown(&mut self) {
        if self.waits_for_replicas() && self.replication.lagging() == 0 {
            self.finish_shutdown();
        }
    }

    fn waits_for_replicas(&self) -> bool {
        self.pausing.shutting_down.as_ref().is_some_and(|waiting| waiting.timeout.is_some())
    }

    /// The time for replicas is over.
    pub(super) fn shutdown_due(&mut self) {
        if let Some(waiting) = &mut self.pausing.shutting_down {
            // Its timer has fired.
            waiting.timeout = None;
            let (lagging, all) = (self.replication.lagging(), self.replication.replicas.len());
            tracing::info!("{} of {all} replicas are in sync when shutting down.", all - lagging.min(all));
            self.finish_shutdown();
        }
    }

    /// Nothing is written any more, also while the threads around the engine end.
    fn finish_shutdown(&mut self) {
        let Some(waiting) = &mut self.pausing.shutting_down else { return };
        let ending = waiting.ending;
        if let Some(timeout) = waiting.timeout.take() {
            self.clock.timers_mut().cancel(timeout);
        }
        if self.end(ending).is_err() {
            self.forget_shutdown();
        }
    }

    /// Who was paused goes on, and who has asked for the end is told that it does not come.
    pub(super) fn forget_shutdown(&mut self) {
        let Some(waiting) = self.pausing.shutting_down.take() else { return };
        waiting.timeout.into_iter().for_each(|timeout| self.clock.timers_mut().cancel(timeout));
        self.own_pause_changed(false);
        let asked = self.parked.clients().filter(|(_, retry)| matches!(retry, Retry::Ended));
        for client in asked.map(|(client, _)| client).collect::<Vec<_>>() {
            self.cancel_wait(client, &NOT_ENDED);
        }
    }

    fn end(&mut self, ending: Ending) -> Result<(), CommandError> {
        // A sentinel has nothing to save.
        let saves = ending.saves && self.sentinel.is_none();
        if saves {
            tracing::info!("Saving the final RDB snapshot before exiting.");
        }
        if saves && self.save().is_err() && !ending.is_forced {
            tracing::warn!("Error trying to save the DB, can't exit.");
            return Err(NOT_ENDED);
        }
        self.stop = Some(Stop::Shutdown);
        Ok(())
    }
}
