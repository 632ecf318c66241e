//! Blocked clients: parked with their request, retried when a key is signalled, or answered when they time out.

use super::call::Call;
use super::command_tx::CommandTx;
use super::dispatch::Unfinished;
use super::engine::{Engine, Retry};
use super::parked::{Blocked, Counts};
use crate::clients::{HeldState, OpenReply, Request, Slot};
use crate::clock::{Timer, TimerKind};
use crate::locks::{self, GrantDelay, HistoryCause, ReadingRequest};
use crate::spec::{Answer, Args, Asking, CommandError, CommandId, OnKeys, Wait, WaitClass, errors};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{KeyTimer, Order, Place, ReadyKey, Signal, Waiter, ticket_of};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Parks a request until one of its keys is ready or its timeout passes.
    pub(crate) fn block(&mut self, slot: Slot, command: CommandId, request: Request, unfinished: Unfinished) {
        let Unfinished { wait, took_ns } = unfinished;
        let rank = if let Retry::OnKeys(on) = &wait.retry { on.rank } else { 0 };
        let place = Place { rank, arrival: self.keyspace.waiters.next_ticket() };
        let session = self.sessions.get_mut(slot);
        let (id, db) = (session.id, session.db);
        let mut held = HeldState::new(session.delivery.buffers());
        held.set(request.memory());
        match &wait.retry {
            Retry::OnKeys(on) => {
                let argv = request.argv();
                for key in on.queues(&argv) {
                    let label = on.label.map_or(&[][..], |label| argv[label]).into();
                    let of_absent = (on.class.accepts)(None);
                    let waiter = Waiter { id, class: on.class.name, label, of_absent };
                    self.keyspace.add_waiter(db, key, on.class.line, place, waiter);
                }
            }
            Retry::Always(state) => self.await_state(&**state, id),
            Retry::Advance | Retry::Held(_) => {}
            Retry::Paused { .. } | Retry::Ended | Retry::Broadcast(_) | Retry::Reading => {}
        }
        let timeout = wait.timeout_ms.map(|ms| {
            let (kind, now) = match wait.real_time {
                true => (TimerKind::RealWait, self.clock.system()),
                false => (TimerKind::Wait, self.clock.now()),
            };
            let timer = Timer { kind, client: id, order: self.keyspace.next_order() };
            // Saturates on overflow.
            self.clock.timers_mut().insert(timer, now.monotonic_ms().saturating_add_unsigned(ms))
        });
        let since_ms = self.clock.now().monotonic_ms();
        let Wait { retry, null, .. } = *wait;
        let blocked = Blocked {
            command,
            request,
            held,
            retry,
            on_reply: Vec::new(),
            again: None,
            null,
            timeout,
            place,
            db,
            since_ms,
            took_ns,
        };
        self.parked.insert(id, blocked);
        self.time_retry(id);
        self.sessions.get_mut(slot).blocked = true;
        self.history().queued(slot);
        self.watch_idle(slot);
    }

    /// Takes a session out of every queue it waits in.
    pub(crate) fn unblock(&mut self, slot: Slot) -> Option<Blocked<Retry>> {
        let session = self.sessions.get_mut(slot);
        if !std::mem::take(&mut session.blocked) {
            return None;
        }
        let id = session.id;
        let blocked = self.parked.remove(id)?;
        match &blocked.retry {
            Retry::OnKeys(on) => self.leave_queues(&blocked, on),
            Retry::Always(state) => self.await_no_state(&**state, id),
            Retry::Held(held) => self.faults.held.remove(held.rule, blocked.place.arrival),
            Retry::Paused { .. } => self.pauses.forget(blocked.place.arrival),
            Retry::Broadcast(_) | Retry::Reading => self.forget_reading(id),
            Retry::Advance => self.leave_advance(id),
            Retry::Ended => {}
        }
        if let Some(timer) = blocked.timeout {
            self.clock.timers_mut().cancel(timer);
        }
        let batch = self.batch;
        let session = self.sessions.get_mut(slot);
        (session.last_active, session.unblocked_in) = (self.clock.now(), batch);
        self.watch_idle(slot);
        Some(blocked)
    }

    pub(super) fn leave_queues(&mut self, blocked: &Blocked<Retry>, on: &OnKeys) {
        let argv = blocked.request.argv();
        for key in on.queues(&argv) {
            self.keyspace.remove_waiter(blocked.db, key, blocked.place);
            // Waiters behind it may now be served.
            if on.class.asking == Asking::InOrder {
                self.keyspace.waiters.signal(blocked.db, key, Signal::Less);
            }
        }
        // A replica changes nothing by itself: a place in a fair lock's queue is its master's to take away.
        if self.following.is_none() {
            on.attempt.leave(&mut self.keyspace.tx(blocked.db, self.clock.now()), Args::new(&argv));
        }
    }

    /// Retries the waiters of signalled keys, in the order of their places, until none is served. Who waits then in a
    /// cycle that has just been closed waits no longer.
    pub(crate) fn serve_ready(&mut self) {
        while {
            while let Some(ready) = self.keyspace.waiters.next_ready() {
                self.serve_key(&ready);
            }
            self.end_closed_cycles()
        } {}
    }

    fn serve_key(&mut self, ready: &ReadyKey) {
        // The lines that are skipped: the key is not of their type, or did not serve their first waiter.
        let mut passed_over: SmallVec<[&str; 4]> = SmallVec::new();
        let mut out_of_turn = None;
        let holds_back = self.holds_back(ready);
        let mut after = Place::FRONT;
        while let Some((place, waiter)) =
            self.keyspace.waiters.next_after(ready, after, |line| !passed_over.contains(&line))
        {
            after = place;
            let id = waiter.id;
            let Some(class) = self.class_of(id) else { continue };
            // The key may be gone again, or of another type: it is signalled once more when that changes.
            if !(class.accepts)(self.keyspace.tx(ready.db, self.clock.now()).peek(&ready.key)) {
                passed_over.push(class.line);
                continue;
            }
            if holds_back && locks::can_be_held_back(class) {
                passed_over.push(class.line);
                continue;
            }
            if self.is_still_there(id) && !self.retry(id) && class.asking == Asking::InOrder {
                passed_over.push(class.line);
                self.time_retry(id);
                out_of_turn = out_of_turn.or(class.out_of_turn);
            }
        }
        if let Some(out_of_turn) = out_of_turn {
            for id in out_of_turn(&self.keyspace.tx(ready.db, self.clock.now()), &ready.key, ready.what) {
                if self.is_still_there(id) {
                    self.retry(id);
                }
            }
        }
    }

    /// Whether the native waiters of a lock that is free are held back at this instant, as `lock-handoff-delay` says.
    fn holds_back(&mut self, ready: &ReadyKey) -> bool {
        let rule = (self.config.lock_waits.handoff_delay, self.clock.now());
        match locks::grant_delay(&mut self.keyspace, &self.pubsub, ready, rule) {
            GrantDelay::None => false,
            GrantDelay::Runs => true,
            GrantDelay::Begins(until_ms) => {
                let timer =
                    Timer { kind: TimerKind::GrantDelay, client: 0, order: self.keyspace.next_order() };
                self.clock.timers_mut().insert(timer, until_ms);
                true
            }
        }
    }

    /// Sets when a waiter is to be retried because time alone serves it, if it is the first on its key.
    pub(super) fn time_retry(&mut self, id: u64) {
        let Some(blocked) = self.parked.get(id) else { return };
        let Retry::OnKeys(on) = &blocked.retry else { return };
        let (argv, db, class) = (blocked.request.argv(), blocked.db, on.class.name);
        let key = on.beside.as_deref().unwrap_or(argv[on.keys[0]]);
        if self.keyspace.tx(db, self.clock.now()).first_waiting(key, class) == Some(blocked.place) {
            let mut tx = self.keyspace.tx(db, self.clock.now());
            // It has just not been served: to ask again at the same instant would be to ask for ever.
            let next_ms = tx.over_until_ms().saturating_add(1);
            let at_ms = on.attempt.ready_at_ms(&mut tx, Args::new(&argv)).map(|at_ms| at_ms.max(next_ms));
            tx.set_key_timer(key, KeyTimer::Retry, at_ms.map(|at_ms| (at_ms, Order::default())));
        }
    }

    /// The class of the keys that a client waits for.
    fn class_of(&self, id: u64) -> Option<&'static WaitClass> {
        match &self.parked.get(id)?.retry {
            Retry::OnKeys(on) => Some(on.class),
            Retry::Always(_) | Retry::Advance => None,
            Retry::Held(_) | Retry::Paused { .. } | Retry::Ended => None,
            Retry::Broadcast(_) | Retry::Reading => None,
        }
    }

    /// Retries a waiting request; whether it is done.
    pub(super) fn retry(&mut self, id: u64) -> bool {
        if self.cluster.is_some()
            && let Some(error) = self.redirect_retry(id)
        {
            return self.cancel_wait(id, &error);
        }
        if let Some(ticket) = ticket_of(id) {
            return self.retry_ticket(ticket);
        }
        let Some(slot) = self.sessions.find(id) else { return false };
        // It stays in its queues meanwhile and so keeps its place; only the request is taken out.
        let Some(blocked) = self.parked.remove(id) else { return false };
        self.observers.stats.retried_requests += 1;
        if self.config.lock_history {
            self.history().retry(slot, &blocked, None);
        }
        let mut open = self.sessions.get_mut(slot).delivery.begin();
        let began_ns = self.clock.reading_ns();
        // A panic in a command disconnects the client that waits with it, not the one whose request woke it.
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let argv = blocked.request.argv();
            let protocol = self.sessions.get(slot).protocol;
            open.write(protocol, |reply| self.attempt(slot, &blocked, Args::new(&argv), reply))
        }));
        self.parked.insert(id, blocked);
        let Ok(asked) = asked else {
            self.end_contained(slot, open, true);
            self.cut_off(slot);
            return true;
        };
        if let Ok(false) = asked {
            self.end_contained(slot, open, true);
            return false;
        }
        if self.config.lock_history {
            self.history().retried(slot, asked.is_err());
            self.note_unsent(slot);
        }
        self.end_served(slot, open, asked.err(), began_ns);
        self.observers.stats.unblocked_clients += 1;
        self.check_output_limit(slot);
        self.wake(slot);
        self.deliver();
        true
    }

    /// Ends the wait of a client whose reply is written, or which is answered an error.
    fn end_served(&mut self, slot: Slot, mut open: OpenReply, error: Option<CommandError>, began_ns: u64) {
        let Some(blocked) = self.unblock(slot) else {
            return self.end_contained(slot, open, true);
        };
        self.observe_served(slot, &blocked, began_ns);
        if let Some(error) = error {
            let argv = blocked.request.argv();
            let error = self.explained(blocked.command, &error, Args::new(&argv)).unwrap_or(error);
            self.tell_failed(&blocked, &error);
            let protocol = self.sessions.get(slot).protocol;
            if allocation::contain(|| open.write(protocol, |reply| reply.error(error.as_bytes()))).is_err() {
                self.cut_off(slot);
                return self.never_answered(&blocked.on_reply);
            }
        }
        if let Some(rule) = blocked.again {
            self.answered_once(slot, open, rule, &blocked);
        } else if blocked.on_reply.is_empty() {
            self.end_contained(slot, open, false);
        } else {
            let request = Request::new(&blocked.request.argv());
            self.end_reply(slot, open, blocked.command, request, &blocked.on_reply);
        }
    }

    pub(super) fn attempt(
        &mut self,
        slot: Slot,
        blocked: &Blocked<Retry>,
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
                CommandTx::new(tx, &self.commands, blocked.command, args)
                    .run(|tx| on.attempt.attempt(tx, args, Some(waited_ms), reply))
            }
            Retry::Always(state) => Ok(state.attempt(self, reply)),
            Retry::Broadcast(_) => self.write_broadcast(slot, (blocked.command, blocked.db), args, reply),
            Retry::Reading => {
                let name = self.commands.get(blocked.command).spec.name;
                let request = ReadingRequest { name, db: blocked.db, args };
                self.readings.go_on(&mut self.keyspace, self.clock.now(), request, reply)
            }
            Retry::Advance | Retry::Held(_) => Ok(false),
            Retry::Paused { .. } | Retry::Ended => Ok(false),
        }
    }

    /// Answers a client whose timeout has passed; its timer has fired.
    pub(crate) fn time_out(&mut self, id: u64) {
        let Some(slot) = self.sessions.find(id) else { return };
        if let Some(blocked) = self.parked.get_mut(id) {
            blocked.timeout = None;
        }
        if !self.resume_advance(slot) && !self.continue_watch(id) && !self.continue_reading(id) {
            self.end_wait(slot);
        }
    }

    /// A state of the server may be reached by time alone: asks for it again when a timeout has passed. Whether it has
    /// been reached, or the wait goes on.
    fn continue_watch(&mut self, id: u64) -> bool {
        let Some(Retry::Always(_)) = self.parked.get(id).map(|blocked| &blocked.retry) else { return false };
        if self.retry(id) {
            return true;
        }
        let Some(Retry::Always(state)) = self.parked.get(id).map(|blocked| &blocked.retry) else {
            return false;
        };
        let Some(ms) = state.goes_on_for_ms(self) else { return false };
        let timer = Timer { kind: TimerKind::RealWait, client: id, order: self.keyspace.next_order() };
        let due_ms = self.clock.system().monotonic_ms().saturating_add_unsigned(ms);
        let timer = self.clock.timers_mut().insert(timer, due_ms);
        if let Some(blocked) = self.parked.get_mut(id) {
            blocked.timeout = Some(timer);
        }
        true
    }

    /// Ends a client's wait, if it waits, as its timeout would: with a null.
    pub(super) fn end_wait(&mut self, slot: Slot) {
        self.history().left_queue(slot, HistoryCause::Timeout);
        if let Some(blocked) = self.unblock(slot) {
            self.tell_left(&blocked, "timedout");
            let (null, in_vain) = (blocked.null, self.in_vain(&blocked));
            self.answer_blocked(slot, blocked, |reply| match in_vain {
                Some(write) => write(reply),
                None => null.write(reply),
            });
        }
    }

    /// What a request that has waited in vain is answered, if not a null.
    fn in_vain(&mut self, blocked: &Blocked<Retry>) -> Option<Answer> {
        if let Retry::Always(state) = &blocked.retry {
            return state.in_vain(self);
        }
        let Retry::OnKeys(on) = &blocked.retry else { return None };
        let argv = blocked.request.argv();
        on.attempt.in_vain(&self.keyspace.tx(blocked.db, self.clock.now()), Args::new(&argv))
    }

    /// CLIENT UNBLOCK: ends a wait as if it had timed out, or with an error. Whether the client was waiting.
    pub(crate) fn unblock_client(&mut self, id: u64, with_error: bool) -> bool {
        let Some(slot) = self.sessions.find(id) else { return false };
        if !with_error && self.finish_advance(slot) {
            return true;
        }
        if self.parked.get(id).is_some_and(|blocked| blocked.retry.outlasts_unblock()) {
            return false;
        }
        if with_error {
            return self.cancel_wait(id, &errors::UNBLOCKED);
        }
        let is_blocked = self.sessions.get(slot).blocked;
        self.end_wait(slot);
        is_blocked
    }

    /// Ends a client's wait with an error. Whether the client was waiting.
    pub(crate) fn cancel_wait(&mut self, id: u64, error: &CommandError) -> bool {
        self.cancel_wait_as(id, error, HistoryCause::Unblocked)
    }

    /// The same, for this cause in the history.
    pub(super) fn cancel_wait_as(&mut self, id: u64, error: &CommandError, cause: HistoryCause) -> bool {
        if let Some(ticket) = ticket_of(id) {
            return self.cancel_ticket(ticket, error, cause);
        }
        let Some(slot) = self.sessions.find(id) else { return false };
        self.history().cancelled(id, cause, error);
        let Some(blocked) = self.unblock(slot) else { return false };
        self.tell_failed(&blocked, error);
        self.answer_blocked(slot, blocked, |reply| reply.error(error.as_bytes()));
        true
    }

    /// Tells listeners that a client no longer waits for a lock, and was not served.
    pub(super) fn tell_left(&mut self, blocked: &Blocked<Retry>, event: &str) {
        if let Retry::OnKeys(on) = &blocked.retry {
            self.tell_left_queues(on, blocked.db, &blocked.request.argv(), event);
        }
    }

    /// The same of a request of these arguments.
    pub(super) fn tell_left_queues(&mut self, on: &OnKeys, db: usize, argv: &[&[u8]], event: &str) {
        let Some(owner) = on.label.filter(|_| self.keyspace.has_server_audience()) else { return };
        for &key in &on.keys {
            locks::wait_events::left(
                &mut self.keyspace,
                self.clock.now(),
                (db, argv[key]),
                argv[owner],
                event,
            );
        }
    }

    /// The clients that wait, and are counted.
    pub(super) fn waiting_clients(&self) -> Vec<u64> {
        let all = self.parked.clients().filter(|(_, retry)| retry.counts() && !retry.is_paused());
        all.map(|(id, _)| id).collect()
    }

    /// How many clients wait; with a key (of database `db`), how many wait for that. Observers (AWAIT) are not counted.
    pub(crate) fn blocked_clients(&self, key: Option<(usize, &[u8])>) -> usize {
        match key {
            None => self.parked.counted(),
            Some((db, key)) => {
                let counts = |id| self.class_of(id).is_some_and(|class| class.counts);
                self.keyspace.waiters.queue(db, key).filter(|(_, waiter)| counts(waiter.id)).count()
            }
        }
    }

    /// How many clients wait with a timeout; observers (AWAIT), whose time is real, are not counted.
    pub(crate) fn waits_with_timeout(&self) -> usize {
        self.clock.timers().count(TimerKind::Wait)
    }

    /// How often requests that wait have been tried again since the start, whether they were done then or not.
    pub fn retried_requests(&self) -> u64 {
        self.observers.stats.retried_requests
    }

    /// How many waiting clients have been woken since the start: by keys or states, not by timeouts.
    pub fn unblocked_clients(&self) -> u64 {
        self.observers.stats.unblocked_clients
    }
}
