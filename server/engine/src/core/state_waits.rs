//! Waits for a state of the server that no key stands for: each is retried when what it is about has changed, and none
//! costs anything while others send requests that do not matter to it.
//!
//! Each kind of state has a version, which changes when any wait of the kind may have to be looked at. Counts that rise
//! by one at a time wake those alone who wait for the number that is reached: see [`super::count_waits`].

use super::count_waits::CountOf;
use super::engine::{Engine, EngineAttempt, Retry};
use super::parked::Counts;
use super::state_kinds::StateOf;
use crate::locks::HistoryReader;
use crate::spec::{Args, CommandId};
use lockwheel_store::keyspace::WaiterId;

/// The bits of a version that number the entries of one history: none has as many.
const HISTORY_BITS: u32 = 48;

impl Engine {
    /// A client begins to wait for a state.
    pub(super) fn await_state(&mut self, state: &dyn EngineAttempt, id: WaiterId) {
        self.keyspace.waiters.add_unkeyed(state.watches() as usize, id);
        if let Some((of, number)) = state.awaits_count() {
            // The request itself has been counted since it was tried.
            if self.count_of(&of) >= number {
                self.count_waits.look_at(id);
            }
            self.count_waits.add(of, number, id);
            self.observers.await_calls(self.count_waits.await_calls());
        }
    }

    /// It no longer does.
    pub(super) fn await_no_state(&mut self, state: &dyn EngineAttempt, id: WaiterId) {
        let kind = state.watches();
        self.keyspace.waiters.remove_unkeyed(kind as usize, id);
        if let Some((of, number)) = state.awaits_count() {
            self.count_waits.remove(&of, number, id);
            self.observers.await_calls(self.count_waits.await_calls());
        }
        match kind {
            StateOf::Silence if self.waiting_for(kind) == 0 => self.recent_requests.forget(),
            StateOf::Listeners if self.waiting_for(kind) == 0 => self.state_counts.forget_listeners(),
            _ => {}
        }
    }

    /// The count that a wait is about, as it is now; 0 of a rule that is gone.
    fn count_of(&self, of: &CountOf) -> u64 {
        let stats = &self.observers.stats;
        match of {
            CountOf::Calls(commands) => stats.calls_of(commands),
            CountOf::KeyCalls(commands, pattern) => stats.key_calls.calls(commands, pattern),
            CountOf::Hits(rule) => self.faults.rules.get(*rule).map_or(0, |rule| rule.counts.hits),
            CountOf::Held(rule) => self.faults.held.count(*rule) as u64,
        }
    }

    /// How many wait for a state of a kind. O(1).
    pub(crate) fn waiting_for(&self, kind: StateOf) -> usize {
        self.keyspace.waiters.unkeyed_count(kind as usize)
    }

    /// Retries clients that wait for a state of the server which may have changed. Returns whether any was served: then
    /// what others wait for may have changed after it was looked at, and they must be retried anew. A retry that serves
    /// nobody changes nothing.
    #[must_use]
    pub(crate) fn serve_state_watchers(&mut self) -> bool {
        let mut has_served = false;
        for kind in self.keyspace.waiters.unkeyed_kinds() {
            let Some(&of) = StateOf::ALL.get(kind) else { continue };
            if of == StateOf::Silence {
                self.note_heard();
            }
            let version = self.version_of(of);
            let waiting = self.keyspace.waiters.unkeyed_since(kind, version);
            if !waiting.is_empty() {
                has_served |= self.retry_state_watchers(of, waiting);
            }
        }
        for id in self.count_waits.take_reached() {
            has_served |= self.retry(id);
        }
        has_served
    }

    fn retry_state_watchers(&mut self, of: StateOf, waiting: Vec<WaiterId>) -> bool {
        let mut has_served = false;
        self.state_counts.begin();
        for id in waiting {
            has_served |= self.retry(id);
        }
        self.state_counts.end(of);
        if of == StateOf::Silence {
            self.recent_requests.make_room();
        }
        has_served
    }

    /// Notes the last request for those who wait for silence.
    fn note_heard(&mut self) {
        let (requests, caller) = self.clock.last_request();
        let name = self.sessions.find(caller).map(|slot| &*self.sessions.get(slot).name);
        self.recent_requests.note(
            requests,
            name,
            self.sessions.name_bytes(),
            self.clock.system().monotonic_ms(),
        );
    }

    /// A number that changes whenever such a state may have changed. O(1).
    fn version_of(&self, of: StateOf) -> u64 {
        let of_waits = || self.parked.changes().wrapping_add(self.keyspace.waiters.changes());
        let of_history = || {
            let history = HistoryReader::of(&self.keyspace);
            let entries = |history: HistoryReader<'_>| history.last().wrapping_add(history.first());
            history.map_or(0, |history| (history.number() << HISTORY_BITS).wrapping_add(entries(history)))
        };
        match of {
            StateOf::Waits => of_waits(),
            StateOf::Listeners if self.pubsub.subscriptions() == 0 => {
                of_waits().wrapping_add(self.pubsub.changes())
            }
            // The history tells whether a thread of Redisson's waits by a subscription.
            StateOf::Listeners => of_waits().wrapping_add(self.pubsub.changes()).wrapping_add(of_history()),
            StateOf::Subscribers => self.pubsub.changes(),
            StateOf::Clients => self.sessions.changes(),
            StateOf::History => of_history(),
            StateOf::Calls => self.observers.stats.recounts(),
            StateOf::Rules => self.faults.rules.removals(),
            StateOf::Replicas => self.replication.acknowledgements(),
            StateOf::Silence => self.recent_requests.overflows(),
        }
    }

    /// A command was run, or has begun to wait: counts it for those who ask for its keys, and wakes those who wait for
    /// so many calls.
    pub(super) fn count_call(&mut self, command: CommandId, args: Args<'_>) {
        let Engine { observers, count_waits, commands, .. } = self;
        for list in count_waits.lists_with(command) {
            let calls = observers.stats.calls_of(&list);
            count_waits.rises(&CountOf::Calls(list), calls);
        }
        if observers.stats.key_calls.wants(command) {
            let positions = commands.get(command).key_positions(args);
            let keys: Vec<&[u8]> = positions.into_iter().map(|at| &args[at]).collect();
            observers.stats.key_calls.called(command, &keys, |commands, pattern, calls| {
                // The question is kept when nobody waits any more.
                if count_waits.await_key_calls() {
                    count_waits.rises(&CountOf::KeyCalls(commands.into(), pattern.into()), calls);
                }
            });
        }
    }
}

impl Counts for Retry {
    fn counts(&self) -> bool {
        match self {
            Retry::OnKeys(on) => on.class.counts && !on.by_ticket,
            Retry::Always(state) => state.is_counted(),
            Retry::Advance | Retry::Held(_) => false,
            Retry::Broadcast(_) | Retry::Reading => false,
            Retry::Paused { .. } | Retry::Ended => true,
        }
    }
}

#[cfg(test)]
mod tests;
