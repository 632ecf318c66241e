//! Clients that wait until they have read the history: when each is served a piece, and what it waits for.

use super::broadcast::OF_HISTORY;
use super::call::Call;
use super::engine::{Engine, Retry};
use crate::clock::{Timer, TimerKind};
use crate::locks::HistoryHandler;
use crate::member::Broadcast;
use crate::spec::{Args, CommandError, Flow, Null, Wait};
use lockwheel_resp::Reply;

impl Engine {
    /// Reads the history for a client, or begins to.
    pub(super) fn read_history(
        &mut self,
        run: HistoryHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        if !self.readings.is_busy() {
            let actor = call.actor(args);
            let tx = &mut self.keyspace.tx_by(&actor, call.db, self.clock.now());
            if self.readings.answer(run, tx, args, reply)? {
                return Ok(Flow::Done);
            }
        }
        Ok(self.wait_to_read(call.session))
    }

    /// Lets a client wait until it has been served; the first one begins at once.
    pub(super) fn wait_to_read(&mut self, client: u64) -> Flow<Retry> {
        let timeout_ms = self.readings.join(client).then_some(0);
        Wait { real_time: true, timeout_ms, ..Wait::new(Retry::Reading, None, Null::Bulk) }.into()
    }

    /// Serves a client that reads the history, whose time has come; whether it is one.
    pub(super) fn continue_reading(&mut self, client: u64) -> bool {
        if !self.parked.get(client).is_some_and(|blocked| matches!(blocked.retry, Retry::Reading)) {
            return false;
        }
        if !self.retry(client) {
            self.set_reading_timer(client);
        }
        true
    }

    fn set_reading_timer(&mut self, client: u64) {
        let timer = Timer { kind: TimerKind::RealWait, client, order: self.keyspace.next_order() };
        if let Some(blocked) = self.parked.get_mut(client) {
            let at_ms = self.clock.system().monotonic_ms();
            blocked.timeout = Some(self.clock.timers_mut().insert(timer, at_ms));
        }
    }

    /// Lets a client that has waited for the histories of all servers go on waiting until it has read them.
    pub(super) fn begin_to_read(&mut self) {
        let Some((client, is_served)) = self.readings.take_beginner() else { return };
        if let Some(blocked) = self.parked.get_mut(client) {
            blocked.retry = Retry::Reading;
            if is_served {
                self.set_reading_timer(client);
            }
        }
    }

    /// Serves the next client, if this one has been served and no longer reads the history.
    pub(super) fn forget_reading(&mut self, client: u64) {
        let Some(next) = self.readings.leave(client) else { return };
        let Some(blocked) = self.parked.get_mut(next) else { return };
        let is_of_all = OF_HISTORY.contains(&self.commands.get(blocked.command).spec.name);
        if self.member.is_joined() && is_of_all && matches!(blocked.retry, Retry::Reading) {
            // What it reads is of all servers, as it is now.
            blocked.retry = Retry::Broadcast(self.member.broadcast(next, Broadcast::History));
        } else {
            self.set_reading_timer(next);
        }
    }
}
