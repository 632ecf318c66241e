//! Clients that wait for a reading of the history: their turns, and the state of each.

use super::broadcast::OF_HISTORY;
use super::call::Call;
use super::engine::Engine;
use crate::locks::{HistoryHandler, HistoryReadings};
use crate::member::Broadcast;
use crate::spec::{Args, CommandError, Flow};
use crate::waits::Retry;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;

pub(super) struct HistoryReader<'e> {
    pub(super) readings: &'e mut HistoryReadings,
    pub(super) keyspace: &'e mut Keyspace,
    pub(super) now: Now,
}

impl HistoryReader<'_> {
    /// Reads the history for a client, or begins to.
    pub(super) fn read(
        self,
        run: HistoryHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        if !self.readings.is_busy() {
            let actor = call.actor(args);
            let tx = &mut self.keyspace.tx_by(&actor, call.db, self.now);
            if self.readings.answer(run, tx, args, reply)? {
                return Ok(Flow::Done);
            }
        }
        Ok(Retry::of_reading(self.readings, call.session))
    }
}

impl Engine {
    /// Serves the next client after this one has finished reading the history.
    pub(super) fn forget_reading(&mut self, client: u64) {
        let Some(next) = self.readings.leave(client) else { return };
        let Some(blocked) = self.waits.get_mut(next) else { return };
        let is_of_all = OF_HISTORY.contains(&self.commands.get(blocked.command).spec.name);
        if self.member.is_joined() && is_of_all && matches!(blocked.retry, Retry::Reading) {
            // The next client reads the histories of all servers as they are now.
            blocked.retry = Retry::Broadcast(self.member.broadcast(next, Broadcast::History));
        } else {
            self.wait_control().wait_real(next, 0);
        }
    }
}
