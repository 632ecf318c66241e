//! The end of the server, carried out: what [`Shutdown`](crate::shutdown::Shutdown) waits for is asked, and writes are
//! paused meanwhile.

use super::engine::Engine;
use super::progress::Stop;
use crate::locks::HistoryCause;
use crate::shutdown::{EndSignal, Ending, NONE_IN_PROGRESS, NOT_ENDED, ShutdownRequest};
use crate::spec::{CommandError, Flow, Null, Wait};
use crate::waits::Retry;
use lockwheel_resp::Reply;

impl Engine {
    /// Carries out SHUTDOWN. A slow script is ended by one that saves nothing only.
    ///
    /// # Errors
    /// Returns an error if the server goes on, or if there was no end to abort.
    #[cold]
    pub(super) fn run_shutdown(
        &mut self,
        request: ShutdownRequest,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        match request {
            ShutdownRequest::Abort if self.shutdown.awaits_replicas() => {
                tracing::warn!("Shutdown manually aborted.");
                self.forget_shutdown();
                reply.ok();
                Ok(Flow::Done)
            }
            ShutdownRequest::Abort => Err(NONE_IN_PROGRESS),
            // The request came in from within a slow script.
            ShutdownRequest::End { without_saving, .. } if self.scripts.is_running() => {
                if !without_saving {
                    return Err(self.scripts.busy());
                }
                self.stop = Some(Stop::Shutdown);
                Ok(Flow::Done)
            }
            ShutdownRequest::End { ending, .. } => match self.shut_down(ending)? {
                true => Ok(Flow::Done),
                false => Ok(Wait::new(Retry::Ended, None, Null::Bulk).into()),
            },
        }
    }

    /// Ends the server, at once if all replicas have everything; returns whether it does. A server that waits for its
    /// replicas already goes on to.
    fn shut_down(&mut self, ending: Ending) -> Result<bool, CommandError> {
        if self.shutdown.has_begun() {
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
        let until_ms = self.clock.system().monotonic_ms().saturating_add(timeout_ms);
        self.shutdown.wait(ending, until_ms, self.clock.timers_mut(), self.keyspace.next_order());
        self.pauses.set_shutdown(true);
        self.follow_pauses();
        self.change_replication(|control| control.ask_replicas());
        Ok(false)
    }

    /// A signal ends the server, as the configuration says; a second one while it waits for replicas, at once.
    pub fn signalled(&mut self, signal: EndSignal) {
        let words = match signal {
            EndSignal::Terminate => &self.config.shutdown.on_sigterm,
            EndSignal::Interrupt => &self.config.shutdown.on_sigint,
        };
        let ending = Ending::of(words);
        if self.shutdown.has_begun() {
            self.stop = Some(Stop::Shutdown);
        } else if self.shut_down(ending).is_err() {
            tracing::warn!("A signal came to end the server, but its keys could not be saved: it goes on.");
        }
        self.commit();
    }

    /// Returns the milliseconds until it ends at the latest, if it waits for replicas.
    pub(crate) fn shuts_down_in_ms(&self) -> Option<i64> {
        self.shutdown.ends_in_ms(self.clock.system().monotonic_ms())
    }

    /// Ends the server if all replicas have everything: one has more than before, or is gone.
    pub(super) fn look_at_shutdown(&mut self) {
        if self.shutdown.awaits_replicas() && self.replication.lagging() == 0 {
            self.finish_shutdown();
        }
    }

    /// Ends the server: the time for replicas is over.
    pub(super) fn shutdown_due(&mut self) {
        self.shutdown.expire();
        if self.shutdown.has_begun() {
            let (lagging, all) = (self.replication.lagging(), self.replication.replicas().len());
            tracing::info!("{} of {all} replicas are in sync when shutting down.", all - lagging.min(all));
            self.finish_shutdown();
        }
    }

    /// Ends the server. Nothing is written any more, also while the threads around the engine end.
    fn finish_shutdown(&mut self) {
        let ending = self.shutdown.finish(self.clock.timers_mut());
        if ending.is_some_and(|ending| self.end(ending).is_err()) {
            self.forget_shutdown();
        }
    }

    /// The server goes on, if it was to end: paused clients go on, and clients that have asked for the end are told
    /// that it does not come.
    pub(super) fn forget_shutdown(&mut self) {
        if !self.shutdown.forget(self.clock.timers_mut()) {
            return;
        }
        self.pauses.set_shutdown(false);
        self.follow_pauses();
        let asked = self.waits.iter().filter(|(_, blocked)| matches!(blocked.retry, Retry::Ended));
        for client in asked.map(|(client, _)| client).collect::<Vec<_>>() {
            self.cancel_wait(client, &NOT_ENDED, HistoryCause::Unblocked);
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
