//! Requests to wait for a state of the server, as resolved by their handlers.

use super::state::{Retry, StateAttempt, StateView};
use super::state_counts::StateOf;
use crate::locks::HistoryReadings;
use crate::replication::ReplicaWait;
use crate::spec::{Answer, Args, CommandError, Flow, Null, Wait};
use lockwheel_resp::Reply;

/// The handler of a command that waits for a state of the server. It sees the database of its client.
pub(crate) type StateHandler = fn(StateView<'_>, usize, Args<'_>) -> Result<StateWait, CommandError>;

#[derive(Debug)]
pub(crate) struct StateWait {
    state: Box<dyn StateAttempt>,
    timeout_ms: u64,
}

impl StateWait {
    /// Returns a wait for a state, which is retried or ends after `timeout_ms` milliseconds of real time.
    pub(crate) fn new(state: impl StateAttempt + 'static, timeout_ms: u64) -> Self {
        StateWait { state: Box::new(state), timeout_ms }
    }

    pub(crate) fn state(&self) -> &dyn StateAttempt {
        &*self.state
    }

    /// Answers at once if the state has been reached, or waits until it has.
    pub(crate) fn begin(self, view: StateView<'_>, reply: &mut dyn Reply) -> Flow<Retry> {
        if self.state.attempt(view, reply) {
            return Flow::Done;
        }
        let wait = Wait::new(Retry::Always(self.state), Some(self.timeout_ms), Null::Bulk);
        Wait { real_time: true, ..wait }.into()
    }
}

impl Retry {
    /// Lets a client wait until it has been sent the history. The first such client begins at once.
    pub(crate) fn of_reading(readings: &mut HistoryReadings, client: u64) -> Flow<Retry> {
        let timeout_ms = readings.join(client).then_some(0);
        Wait { real_time: true, timeout_ms, ..Wait::new(Retry::Reading, None, Null::Bulk) }.into()
    }

    /// Lets a client wait until all servers of the process have done what the broadcast with this number asks.
    pub(crate) fn of_broadcast(number: u64) -> Flow<Retry> {
        Wait { real_time: true, ..Wait::new(Retry::Broadcast(number), None, Null::Bulk) }.into()
    }
}

impl StateAttempt for ReplicaWait {
    fn watches(&self) -> StateOf {
        StateOf::Replicas
    }

    fn attempt(&self, view: StateView<'_>, reply: &mut dyn Reply) -> bool {
        self.try_answer(view.replication, reply)
    }

    fn is_counted(&self) -> bool {
        true
    }

    /// Writes the progress of the replicas.
    fn on_timeout(&self, view: StateView<'_>) -> Option<Answer> {
        let (wait, reached) = (*self, self.reached(view.replication));
        let reached = (wait.is_local(view.replication), reached);
        Some(Box::new(move |reply| wait.answer(reached, reply)))
    }
}
