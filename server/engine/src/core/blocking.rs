//! Blocked clients: parked with their request, retried when a key is signalled, or answered at a timeout.

use super::call::Call;
use super::command_tx::CommandTx;
use super::dispatch::propagate_command;
use super::engine::Engine;
use crate::clients::{OpenReply, Request, Slot};
use crate::clock::AdvanceOwner;
use crate::locks::{HistoryCause, ReadingRequest};
use crate::spec::{Args, CommandError, errors, explained};
use crate::waits::{Blocked, KeyService, Retry, TicketEnd, Undone, WaitControl};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{ReadyKey, ticket_of};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Returns the waiting requests, with the parts that change when a wait begins or ends.
    #[inline]
    pub(super) fn wait_control(&mut self) -> WaitControl<'_> {
        WaitControl {
            waits: &mut self.waits,
            keyspace: &mut self.keyspace,
            sessions: &mut self.sessions,
            clock: &mut self.clock,
            stats: &mut self.observers.stats,
            pubsub: &self.pubsub,
            batch: self.batch,
            is_replica: self.following.is_some(),
            lock_waits: self.config.lock_waits,
        }
    }

    /// Parks a request until one of its keys is ready or its timeout passes.
    pub(crate) fn block(&mut self, slot: Slot, undone: Undone) {
        if let Retry::Always(state) = &undone.wait.retry {
            let (is_reached, id) = (self.state_view().has_risen(&**state), self.sessions.get(slot).id);
            self.waits.begin_state(&mut self.keyspace, &**state, id, is_reached);
            self.observers.await_calls(self.waits.await_calls());
        }
        self.wait_control().park(slot, undone);
        self.history().queued(slot);
        self.watch_idle(slot);
    }

    /// Removes a session from all its queues.
    pub(crate) fn unblock(&mut self, slot: Slot) -> Option<Blocked> {
        let blocked = self.wait_control().take(slot)?;
        let client = self.sessions.get(slot).id;
        match &blocked.retry {
            Retry::OnKeys(_) | Retry::Ended => {}
            Retry::Always(_) => self.observers.await_calls(self.waits.await_calls()),
            Retry::Held(held) => self.faults.held.remove(held.rule, blocked.place.arrival),
            Retry::Paused { .. } => self.pauses.forget(blocked.place.arrival),
            Retry::Broadcast(_) | Retry::Reading => self.forget_reading(client),
            Retry::Advance => self.clock.leave_advance(client, &mut self.keyspace),
        }
        self.watch_idle(slot);
        Some(blocked)
    }

    /// Retries the waiters of signalled keys, in order, while any can be served. Then ends waits in new cycles.
    pub(crate) fn serve_ready(&mut self) {
        while {
            while let Some(ready) = self.keyspace.waiters.next_ready() {
                self.serve_key(ready);
            }
            self.end_closed_cycles()
        } {}
    }

    /// Ends the requests that wait in a cycle, with an error. Returns whether there were any.
    fn end_closed_cycles(&mut self) -> bool {
        let (mut has_ended, mut checked) = (false, None);
        while let Some((id, error)) = self.wait_control().next_deadlock(&mut checked) {
            match self.cancel_wait(id, &error, HistoryCause::Deadlock) {
                true => has_ended = true,
                false => checked = None,
            }
        }
        has_ended
    }

    fn serve_key(&mut self, ready: ReadyKey) {
        let mut service = KeyService::new(ready, &mut self.wait_control());
        while let Some((id, class)) = service.next(&mut self.wait_control()) {
            if self.is_still_there(id) && !self.retry(id) {
                service.was_not_served((id, class), &mut self.wait_control());
            }
        }
        for id in service.out_of_turn(&mut self.wait_control()) {
            if self.is_still_there(id) {
                self.retry(id);
            }
        }
    }

    /// Retries a waiting request. Returns whether it is done.
    pub(super) fn retry(&mut self, id: u64) -> bool {
        if let Some(router) = self.router()
            && let Some(error) = self.waits.redirect_of(id, router)
        {
            return self.cancel_wait(id, &error, HistoryCause::Unblocked);
        }
        if let Some(ticket) = ticket_of(id) {
            return self.retry_ticket(ticket);
        }
        let Some(slot) = self.sessions.find(id) else { return false };
        // The request keeps its place in the queues; only its data are taken out.
        let Some(blocked) = self.waits.remove(id) else { return false };
        self.observers.stats.retried_requests += 1;
        let mut open = self.sessions.get_mut(slot).delivery.begin();
        let began_ns = self.clock.reading_ns();
        // A panic disconnects the client whose command panics, not the one that has woken it.
        let asked = catch_unwind(AssertUnwindSafe(|| {
            if !blocked.may_be_served(&mut self.keyspace, self.clock.now())? {
                return Ok(false);
            }
            if self.config.lock_history {
                self.history().retry(slot, &blocked, None);
            }
            let argv = blocked.request.argv();
            let protocol = self.sessions.get(slot).protocol;
            open.write(protocol, |reply| self.attempt(slot, &blocked, Args::new(&argv), reply))
        }));
        self.waits.insert(id, blocked);
        let Ok(asked) = asked else {
            self.change_output(slot, |output, slot| output.end_reply(slot, open, true));
            self.cut_off(slot);
            self.deliver();
            self.replicate();
            return true;
        };
        if let Ok(false) = asked {
            self.change_output(slot, |output, slot| output.end_reply(slot, open, true));
            return false;
        }
        if self.config.lock_history {
            self.history().retried(slot, asked.is_err());
        }
        self.end_served(slot, open, asked.err(), began_ns);
        self.observers.stats.unblocked_clients += 1;
        self.change_output(slot, |output, slot| output.check(slot));
        self.sessions.wake(slot);
        self.deliver();
        self.replicate();
        true
    }

    /// Ends the wait of a client whose reply is written, or that gets an error.
    fn end_served(&mut self, slot: Slot, mut open: OpenReply, error: Option<CommandError>, began_ns: u64) {
        let Some(blocked) = self.unblock(slot) else {
            return self.change_output(slot, |output, slot| output.end_reply(slot, open, true));
        };
        self.call_observer().served(slot, &blocked, began_ns);
        if let Some(error) = error {
            let argv = blocked.request.argv();
            let error =
                explained(self.commands.get(blocked.command).spec, &error, Args::new(&argv)).unwrap_or(error);
            self.wait_control().tell_failed(&blocked, &error);
            let protocol = self.sessions.get(slot).protocol;
            if allocation::contain(|| open.write(protocol, |reply| reply.error(error.as_bytes()))).is_err() {
                self.cut_off(slot);
                return self.change_faults(|control, _| control.never_answered(&blocked.on_reply));
            }
        }
        if let Some(rule) = blocked.again {
            self.answered_once(slot, open, rule, &blocked);
        } else if blocked.on_reply.is_empty() {
            self.change_output(slot, |output, slot| output.end_reply(slot, open, false));
        } else {
            let request = Request::new(&blocked.request.argv());
            self.end_reply(slot, open, blocked.command, request, &blocked.on_reply);
        }
    }

    pub(super) fn attempt(
        &mut self,
        slot: Slot,
        blocked: &Blocked,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        match &blocked.retry {
            Retry::OnKeys(on) => {
                let waited_ms = (self.clock.now().monotonic_ms() - blocked.since_ms).unsigned_abs();
                let session = self.sessions.get(slot);
                self.keyspace.ignore_accesses(session.no_touch);
                let actor = Call::by(session).actor(args);
                let tx = self.keyspace.tx_by(&actor, blocked.db, self.clock.now());
                let asked = CommandTx::new(tx, &self.commands, blocked.command, args)
                    .run(|tx| on.attempt.attempt(tx, args, Some(waited_ms), reply));
                if self.keyspace.is_command_unpropagated() {
                    propagate_command(self, (blocked.db, blocked.command), args);
                }
                asked
            }
            Retry::Always(state) => Ok(state.attempt(self.state_view(), reply)),
            Retry::Broadcast(_) => {
                let Some(answer) = self.member.take_answer() else { return Ok(false) };
                let name = self.commands.get(blocked.command).spec.name;
                let (client, request) =
                    (self.sessions.get(slot).id, ReadingRequest { name, db: blocked.db, args });
                let (readings, keyspace, now) = (&mut self.readings, &mut self.keyspace, self.clock.now());
                answer?.write(&self.clock, reply, |histories, reply| {
                    readings.answer_of_all(client, histories, keyspace, now, request, reply)
                })
            }
            Retry::Reading => {
                let name = self.commands.get(blocked.command).spec.name;
                let request = ReadingRequest { name, db: blocked.db, args };
                self.readings.go_on(&mut self.keyspace, self.clock.now(), request, reply)
            }
            Retry::Advance | Retry::Held(_) => Ok(false),
            Retry::Paused { .. } | Retry::Ended => Ok(false),
        }
    }

    /// Answers a client whose timer has fired, unless its wait continues.
    pub(crate) fn time_out(&mut self, id: u64) {
        let Some(slot) = self.sessions.find(id) else { return };
        self.waits.timer_fired(id);
        if self.clock.awaited_advance(id).is_some() {
            return self.continue_stopped(AdvanceOwner::Client(id));
        }
        let looks = matches!(self.waits.retry_of(id), Some(Retry::Always(_) | Retry::Reading));
        // The mere passage of time can establish a state of the server.
        if looks && self.retry(id) {
            return;
        }
        let goes_on_for_ms = match self.waits.retry_of(id) {
            Some(Retry::Reading) => Some(0),
            Some(Retry::Always(state)) => state.goes_on_for_ms(self.state_view()),
            _ => None,
        };
        match goes_on_for_ms {
            Some(ms) => self.wait_control().wait_real(id, ms),
            None => self.end_wait(slot),
        }
    }

    /// Ends a client's wait, if there is one, with the null reply of a timeout.
    pub(super) fn end_wait(&mut self, slot: Slot) {
        self.history().left_queue(slot, HistoryCause::Timeout);
        if let Some(blocked) = self.unblock(slot) {
            self.wait_control().tell_left(&blocked, "timedout");
            let (null, answer) = match &blocked.retry {
                Retry::Always(state) => (blocked.null, state.on_timeout(self.state_view())),
                _ => (blocked.null, self.wait_control().keys_on_timeout(&blocked)),
            };
            self.answer_blocked(slot, blocked, |reply| match answer {
                Some(write) => write(reply),
                None => null.write(reply),
            });
        }
    }

    /// Ends a wait as at a timeout, or with an error (CLIENT UNBLOCK). Returns whether the client was waiting.
    pub(crate) fn unblock_client(&mut self, id: u64, with_error: bool) -> bool {
        let Some(slot) = self.sessions.find(id) else { return false };
        if !with_error && let Some(advance) = self.clock.awaited_advance(id) {
            // The advance continues past its limit. Its client gets the result if it ends at once, else a null.
            advance.unblock();
            self.wait_control().cancel_timeout(id);
            self.continue_stopped(AdvanceOwner::Client(id));
            return true;
        }
        if self.waits.get(id).is_some_and(|blocked| blocked.retry.outlasts_unblock()) {
            return false;
        }
        if with_error {
            return self.cancel_wait(id, &errors::UNBLOCKED, HistoryCause::Unblocked);
        }
        let is_blocked = self.sessions.get(slot).blocked;
        self.end_wait(slot);
        is_blocked
    }

    /// Ends the wait of a client or a ticket with an error, and records the cause. Returns whether it was waiting.
    pub(crate) fn cancel_wait(&mut self, id: u64, error: &CommandError, cause: HistoryCause) -> bool {
        if let Some(ticket) = ticket_of(id) {
            return self.end_ticket(ticket, TicketEnd::Cancelled(error, cause)).is_some();
        }
        let Some(slot) = self.sessions.find(id) else { return false };
        self.history().cancelled(id, cause, error);
        let Some(blocked) = self.unblock(slot) else { return false };
        self.wait_control().tell_failed(&blocked, error);
        self.answer_blocked(slot, blocked, |reply| reply.error(error.as_bytes()));
        true
    }

    /// Returns the number of retries of waiting requests since the start, successful or not.
    pub fn retried_requests(&self) -> u64 {
        self.observers.stats.retried_requests
    }

    /// Returns the number of waiting clients woken since the start, by keys or states. Timeouts do not count.
    pub fn unblocked_clients(&self) -> u64 {
        self.observers.stats.unblocked_clients
    }
}
