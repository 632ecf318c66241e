//! Readings of the history that take long: one at a time, a piece in every millisecond, so that others are served in
//! between.

use super::broadcast::OF_HISTORY;
use super::call::Call;
use super::engine::{Engine, Retry};
use crate::clock::{Timer, TimerKind};
use crate::locks::{HistoryHandler, HistoryWork, MergingHistory, history_handler};
use crate::member::Broadcast;
use crate::spec::{Args, CommandError, CommandId, Flow, Null, Wait};
use lockwheel_resp::Reply;
use lockwheel_store::time::Now;

impl Engine {
    /// Reads the history for a client, or begins to.
    pub(super) fn read_history(
        &mut self,
        run: HistoryHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        if self.readings.clients.is_empty() {
            let actor = call.actor(args);
            match run(&mut self.keyspace.tx_by(&actor, call.db, self.clock.now()), args, reply)? {
                Some(work) => self.readings.work = Some(work),
                None => return Ok(Flow::Done),
            }
        }
        Ok(self.wait_to_read(call.session))
    }

    /// Whether others read the history in pieces: who asks now waits for them.
    pub(super) fn is_history_read(&self) -> bool {
        !self.readings.clients.is_empty()
    }

    /// Lets a client wait until it has been served.
    pub(super) fn wait_to_read(&mut self, client: u64) -> Flow<Retry> {
        let timeout_ms = self.readings.clients.is_empty().then_some(0);
        self.readings.clients.push_back(client);
        Wait { real_time: true, timeout_ms, ..Wait::new(Retry::Reading, None, Null::Bulk) }.into()
    }

    /// Does a piece for the client that is served; whether that was the last.
    pub(super) fn read_on(
        &mut self,
        (command, db): (CommandId, usize),
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        if let Some((mut merging, now)) = self.readings.merging.take() {
            match merging.go_on() {
                true => self.readings.work = self.read_merged(merging, (command, db, now), args, reply)?,
                false => self.readings.merging = Some((merging, now)),
            }
            return Ok(self.readings.work.is_none() && self.readings.merging.is_none());
        }
        let Some(mut work) = self.readings.work.take() else {
            let Some(run) = history_handler(self.commands.get(command).spec.name) else { return Ok(true) };
            self.readings.work = run(&mut self.keyspace.tx(db, self.clock.now()), args, reply)?;
            return Ok(self.readings.work.is_none());
        };
        if work.go_on() {
            work.write(reply);
            return Ok(true);
        }
        self.readings.work = Some(work);
        Ok(false)
    }

    /// Reads the histories of all servers as they were at an instant, or begins to.
    pub(super) fn read_merged(
        &mut self,
        merging: MergingHistory,
        (command, db, now): (CommandId, usize, Now),
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<Option<Box<dyn HistoryWork>>, CommandError> {
        let Some(run) = history_handler(self.commands.get(command).spec.name) else { return Ok(None) };
        merging.finish().instead(&mut self.keyspace, |keyspace| run(&mut keyspace.tx(db, now), args, reply))
    }

    /// The time of a client that reads the history has come; whether it is one.
    pub(super) fn continue_reading(&mut self, client: u64) -> bool {
        if !self.reads_history(client) {
            return false;
        }
        if !self.retry(client) {
            self.set_reading_timer(client);
        }
        true
    }

    /// Whether a client waits until it has read the history.
    pub(super) fn reads_history(&self, client: u64) -> bool {
        self.parked.get(client).is_some_and(|blocked| matches!(blocked.retry, Retry::Reading))
    }

    fn set_reading_timer(&mut self, client: u64) {
        let timer = Timer { kind: TimerKind::RealWait, client, order: self.keyspace.next_order() };
        if let Some(blocked) = self.parked.get_mut(client) {
            let at_ms = self.clock.system().monotonic_ms();
            blocked.timeout = Some(self.clock.timers_mut().insert(timer, at_ms));
        }
    }

    /// The histories of all servers are there for a client while another one is served: it waits, and asks for them
    /// again. Whether that is so.
    pub(super) fn reads_later(&mut self, client: u64) -> bool {
        let is_later = self.readings.clients.front().is_some_and(|first| *first != client);
        if is_later && !self.readings.clients.contains(&client) {
            self.readings.clients.push_back(client);
        }
        self.readings.begins = is_later.then_some(client);
        is_later
    }

    /// A client reads the histories of all servers, in pieces if there is work left; whether there is.
    pub(super) fn reads_in_pieces(&mut self, client: u64) -> bool {
        let is_long = self.readings.work.is_some() || self.readings.merging.is_some();
        if is_long {
            if self.readings.clients.is_empty() {
                self.readings.clients.push_back(client);
            }
            self.readings.begins = Some(client);
        }
        is_long
    }

    /// A client that has waited for the histories of all servers goes on waiting until it has read them.
    pub(super) fn begin_to_read(&mut self) {
        let Some(client) = self.readings.begins.take() else { return };
        if let Some(blocked) = self.parked.get_mut(client) {
            blocked.retry = Retry::Reading;
            if self.readings.clients.front() == Some(&client) {
                self.set_reading_timer(client);
            }
        }
    }

    /// A client no longer reads the history; the next is served.
    pub(super) fn forget_reading(&mut self, client: u64) {
        let was_served = self.readings.clients.front() == Some(&client);
        self.readings.clients.retain(|one| *one != client);
        if !was_served {
            return;
        }
        (self.readings.work, self.readings.merging) = (None, None);
        let Some(&next) = self.readings.clients.front() else { return };
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
