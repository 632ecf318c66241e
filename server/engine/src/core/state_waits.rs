//! Waits for a state of the server, rather than of a key, and their retries.

use super::call::Call;
use super::engine::Engine;
use crate::spec::{Args, CommandError, Flow};
use crate::waits::{Retry, StateHandler, StateOf, StateView};
use lockwheel_resp::Reply;

impl Engine {
    /// Returns the parts whose state requests may wait for.
    pub(crate) fn state_view(&self) -> StateView<'_> {
        StateView {
            waits: &self.waits,
            keyspace: &self.keyspace,
            pubsub: &self.pubsub,
            sessions: &self.sessions,
            commands: &self.commands,
            stats: &self.observers.stats,
            faults: &self.faults,
            replication: &self.replication,
            clock: &self.clock,
        }
    }

    /// Answers a client at once if the state that it awaits holds, or blocks it.
    pub(super) fn await_state(
        &mut self,
        parse: StateHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        let wait = parse(self.state_view(), call.db, args)?;
        if let Some((commands, pattern)) = wait.state().counts_keys() {
            self.observers.count_keys(commands, pattern);
        }
        Ok(wait.begin(self.state_view(), reply))
    }

    /// Retries clients that wait for a state which may have changed. Returns whether any was served: the states of
    /// others may then have changed after their check, and the caller must retry. Serving none changes nothing.
    #[must_use]
    pub(crate) fn serve_state_watchers(&mut self) -> bool {
        let mut has_served = false;
        for kind in self.keyspace.waiters.unkeyed_kinds() {
            let Some(&of) = StateOf::ALL.get(kind) else { continue };
            if of == StateOf::Silence {
                self.waits.note_heard(&self.clock, &self.sessions);
            }
            let version = self.state_view().version_of(of);
            let waiting = self.keyspace.waiters.unkeyed_since(kind, version);
            if !waiting.is_empty() {
                self.waits.begin_round();
                for id in waiting {
                    has_served |= self.state_view().may_be_reached(id) && self.retry(id);
                }
                self.waits.end_round(of);
            }
        }
        for id in self.waits.take_reached() {
            has_served |= self.retry(id);
        }
        has_served
    }
}

#[cfg(test)]
mod tests;
