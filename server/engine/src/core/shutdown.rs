//! The shutdown of the server, by [`Shutdown`](crate::shutdown::Shutdown); writes are paused meanwhile.

use super::engine::Engine;
use super::progress::Stop;
use crate::locks::HistoryCause;
use crate::shutdown::{EndSignal, Ending, NOT_ENDED, ShutdownControl, ShutdownEffect, ShutdownRequest};
use crate::spec::{CommandError, Flow, Null, Wait};
use crate::waits::Retry;
use lockwheel_resp::Reply;

impl Engine {
    /// Executes SHUTDOWN, or fails. A slow script is ended only by a SHUTDOWN that saves nothing.
    #[cold]
    pub(super) fn run_shutdown(
        &mut self,
        request: ShutdownRequest,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        match request {
            ShutdownRequest::Abort => {
                self.change_shutdown(|control| control.abort())?;
                reply.ok();
                Ok(Flow::Done)
            }
            // The request came in during a slow script.
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

    /// Begins to shut down, unless begun. Ends the server and returns true if all replicas have the whole stream.
    fn shut_down(&mut self, ending: Ending) -> Result<bool, CommandError> {
        if self.shutdown.has_begun() {
            return Ok(false);
        }
        tracing::info!("User requested shutdown...");
        self.replicate();
        self.change_shutdown(|control| control.begin(ending));
        match self.stop {
            Some(Stop::Shutdown) => Ok(true),
            _ if self.shutdown.has_begun() => Ok(false),
            _ => Err(NOT_ENDED),
        }
    }

    pub(super) fn change_shutdown<T>(&mut self, change: impl FnOnce(&mut ShutdownControl<'_>) -> T) -> T {
        let mut control = ShutdownControl {
            shutdown: &mut self.shutdown,
            clock: &mut self.clock,
            keyspace: &mut self.keyspace,
            config: &self.config,
            replication: &self.replication,
            is_joined: self.member.is_joined(),
            effects: Vec::new(),
        };
        let done = change(&mut control);
        let effects = control.effects;
        self.follow_shutdown(effects);
        done
    }

    fn follow_shutdown(&mut self, effects: Vec<ShutdownEffect>) {
        for effect in effects {
            match effect {
                ShutdownEffect::PauseWrites(are_paused) => {
                    self.pauses.set_shutdown(are_paused);
                    self.follow_pauses();
                }
                ShutdownEffect::AskReplicas => self.change_replication(|control| control.ask_replicas()),
                ShutdownEffect::End(ending) => {
                    // A sentinel has nothing to save, and half of the data must not replace the file.
                    let saves = ending.saves && self.sentinel.is_none() && self.loading.is_none();
                    let is_synced = self.change_append_only(|control| control.shut_down(ending.is_forced));
                    if is_synced == Some(false) {
                        self.change_shutdown(|control| control.forget());
                        continue;
                    }
                    if saves {
                        tracing::info!("Saving the final RDB snapshot before exiting.");
                    }
                    if saves && self.save().is_err() && !ending.is_forced {
                        tracing::warn!("Error trying to save the DB, can't exit.");
                        self.change_shutdown(|control| control.forget());
                    } else {
                        self.stop = Some(Stop::Shutdown);
                    }
                }
                ShutdownEffect::Refuse => {
                    let asked =
                        self.waits.iter().filter(|(_, blocked)| matches!(blocked.retry, Retry::Ended));
                    for client in asked.map(|(client, _)| client).collect::<Vec<_>>() {
                        self.cancel_wait(client, &NOT_ENDED, HistoryCause::Unblocked);
                    }
                }
            }
        }
    }

    /// Handles a signal to end the server, as configured. A second signal ends a wait for replicas.
    pub fn signalled(&mut self, signal: EndSignal) {
        let words = match signal {
            EndSignal::Terminate => &self.config.shutdown.on_sigterm,
            EndSignal::Interrupt => &self.config.shutdown.on_sigint,
        };
        let ending = Ending::of(words);
        if self.shutdown.has_begun() {
            self.stop = Some(Stop::Shutdown);
        } else if self.shut_down(ending).is_err() {
            tracing::warn!("The server continues after the signal, because its keys could not be saved.");
        }
        self.commit();
    }
}
