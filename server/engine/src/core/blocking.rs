//! Clients that wait: parked with their request, asked again when a key is signalled, or told that time is over.

use super::call::{Call, Origin};
use super::dispatch::Parked;
use super::engine::{Engine, Handler};
use crate::clients::{Blocked, Request, Slot};
use crate::keyspace::{ReadyKey, Waiter};
use crate::spec::{Args, BlockingOutcome, CommandError, CommandId, Flow, WaitClass};
use crate::timers::{Timeout, Waiting};
use crate::values::Value;
use lockwheel_resp::{Reply, Writer};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Parks a request until one of its keys is ready or its time is over.
    pub(crate) fn block(&mut self, slot: Slot, command: CommandId, request: Request, parked: Parked) {
        let Parked { wait, took_ns } = parked;
        let arrival = self.keyspace.waiters.next_ticket();
        let session = self.sessions.get_mut(slot);
        let (id, db) = (session.id, session.db);
        let argv = request.argv();
        for &key in &wait.keys {
            let label = wait.label.map_or(&[][..], |label| argv[label]).into();
            let waiter = Waiter { id, class: wait.class as u8, label };
            self.keyspace.add_waiter(db, argv[key], arrival, waiter);
        }
        drop(argv);
        if wait.is_asked_always() {
            self.keyspace.waiters.add_unkeyed(id);
        }
        let waiting = Waiting { id, order: self.keyspace.next_order() };
        let timeout = wait.timeout_ms.map(|ms| {
            if wait.real_time {
                Timeout::Real(self.timers.real.insert(after(self.time.system.monotonic_ms(), ms), waiting))
            } else {
                Timeout::Monotonic(
                    self.timers.monotonic.insert(after(self.time.now.monotonic_ms(), ms), waiting),
                )
            }
        });
        let since_ms = self.time.now.monotonic_ms();
        self.sessions.get_mut(slot).blocked =
            Some(Blocked { command, request, wait, timeout, arrival, db, since_ms, took_ns });
        self.stats.blocked_clients += 1;
    }

    /// Takes a session out of every queue it waits in.
    pub(crate) fn unblock(&mut self, slot: Slot) -> Option<Blocked> {
        let session = self.sessions.get_mut(slot);
        let id = session.id;
        let blocked = session.blocked.take()?;
        let argv = blocked.request.argv();
        for &key in &blocked.wait.keys {
            self.keyspace.remove_waiter(blocked.db, argv[key], blocked.arrival);
            // Who stood behind may have been kept waiting by this one alone.
            if blocked.wait.class == WaitClass::Lock {
                self.keyspace.waiters.signal(blocked.db, argv[key]);
            }
        }
        drop(argv);
        if blocked.wait.is_asked_always() {
            self.keyspace.waiters.remove_unkeyed(id);
        }
        match blocked.timeout {
            Some(Timeout::Monotonic(timer)) => drop(self.timers.monotonic.cancel(timer)),
            Some(Timeout::Real(timer)) => drop(self.timers.real.cancel(timer)),
            None => {}
        }
        self.stats.blocked_clients -= 1;
        Some(blocked)
    }

    /// Asks who waits for a signalled key, in order of arrival, until nobody is served any more.
    pub(crate) fn serve_ready(&mut self) {
        while let Some(ready) = self.keyspace.waiters.next_ready() {
            self.serve_key(&ready);
        }
    }

    fn serve_key(&mut self, ready: &ReadyKey) {
        let mut unserved = [false; WaitClass::COUNT];
        let mut after = 0;
        let asked = |unserved: [bool; WaitClass::COUNT]| move |class| !unserved[usize::from(class)];
        while let Some((arrival, waiter)) = self.keyspace.waiters.next_after(ready, after, asked(unserved)) {
            after = arrival;
            let (id, class) = (waiter.id, usize::from(waiter.class));
            // The key may be gone again, or something else: then it is another key's turn to serve this waiter.
            if !self.is_ready(ready, class) {
                continue;
            }
            if !self.is_still_there(id) {
                continue;
            }
            if !self.retry(id) && class != WaitClass::State as usize {
                unserved[class] = true;
            }
        }
        if unserved[WaitClass::Lock as usize] {
            self.serve_holders(ready);
        }
    }

    /// Asks those who wait for a lock in the name of an owner that has come to hold it: they need not wait for their
    /// turn, which would come when they have given the lock back themselves.
    fn serve_holders(&mut self, ready: &ReadyKey) {
        for id in crate::locks::waiting_holders(&self.keyspace.tx(ready.db, self.time.now), &ready.key) {
            if self.is_still_there(id) {
                self.retry(id);
            }
        }
    }

    /// Whether a client that waits can still be given something. One that has closed its connection is cut off, though
    /// nobody has read that far yet: what it would be given would be lost.
    fn is_still_there(&mut self, id: u64) -> bool {
        let gone = self.host.as_ref().is_some_and(|host| host.is_gone(id));
        if gone && let Some(slot) = self.sessions.find(id) {
            self.cut_off(slot);
        }
        !gone
    }

    /// Whether a signalled key is what a class of waiters waits for; locks and states are asked in any case.
    fn is_ready(&mut self, ready: &ReadyKey, class: usize) -> bool {
        let tx = self.keyspace.tx(ready.db, self.time.now);
        let value = tx.peek(&ready.key);
        match class {
            _ if class == WaitClass::List as usize => matches!(value, Some(Value::List(_))),
            _ if class == WaitClass::SortedSet as usize => matches!(value, Some(Value::ZSet(_))),
            _ => true,
        }
    }

    /// Asks clients that wait for a state of the server.
    pub(crate) fn serve_state_watchers(&mut self) {
        for id in self.keyspace.waiters.unkeyed().to_vec() {
            self.retry(id);
        }
    }

    /// Calls the handler of a waiting request again; whether it is done.
    fn retry(&mut self, id: u64) -> bool {
        let Some(slot) = self.sessions.find(id) else { return false };
        // It stays in its queues while the handler runs, so that its place is its own; only the request is away.
        let session = self.sessions.get_mut(slot);
        let Some(blocked) = session.blocked.take() else { return false };
        let mut out = session.begin_reply();
        let began_ns = self.time.reading_ns();
        // A mistake in a command costs the client that waits by it, not the one whose request has woken it.
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let argv = blocked.request.argv();
            let session = self.sessions.get(slot);
            let mut writer = Writer::new(&mut out, session.protocol);
            writer.mute(session.replies.are_muted());
            let outcome = self.ask_again(slot, &blocked, Args::new(&argv), &mut writer);
            writer.mute(false);
            outcome
        }));
        let command = blocked.command;
        let session = self.sessions.get_mut(slot);
        session.end_reply(out);
        session.blocked = Some(blocked);
        match asked {
            Ok(Ok(Flow::NotYet(_))) => return false,
            Ok(Ok(Flow::Done)) => session.replies.next_request(),
            Ok(Err(error)) => {
                self.stats.failed(command, error.as_bytes());
                self.answer(slot, |reply| reply.error(error.as_bytes()));
            }
            Err(_) => {
                self.cut_off(slot);
                return true;
            }
        }
        if let Some(blocked) = self.unblock(slot) {
            self.observe_served(slot, &blocked, began_ns);
        }
        self.stats.unblocked_clients += 1;
        self.wake(slot);
        self.deliver();
        true
    }

    /// Counts what a request took that has been served after a wait: the time in which it ran, not that of the wait.
    fn observe_served(&mut self, slot: Slot, blocked: &Blocked, began_ns: u64) {
        let took_ns = self.lap(began_ns);
        self.stats.served(blocked.command, took_ns);
        let took_ns = took_ns + blocked.took_ns;
        if self.slow_log.wants(took_ns) {
            let call = Call::by(self.sessions.get(slot), Origin::Client);
            self.log_slow(call, blocked.command, Args::new(&blocked.request.argv()), took_ns);
        }
    }

    fn ask_again(
        &mut self,
        slot: Slot,
        blocked: &Blocked,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> BlockingOutcome {
        match self.handlers[blocked.command.index()] {
            Some(Handler::BlockingData(run)) => {
                let waited = (self.time.now.monotonic_ms() - blocked.since_ms).unsigned_abs();
                let actor = Call::by(self.sessions.get(slot), Origin::Client).actor(args);
                let tx = self.keyspace.tx_by(&actor, blocked.db, self.time.now);
                run(&mut tx.after_waiting(waited), args, reply)
            }
            Some(Handler::BlockingEngine(run)) => {
                let call = Call::by(self.sessions.get(slot), Origin::Client);
                run(self, call, args, reply)
            }
            _ => Err(CommandError::arity(&self.table.get(blocked.command).name)),
        }
    }

    /// Tells a client that its time is over; its timer has fired.
    pub(crate) fn time_out(&mut self, id: u64) {
        let Some(slot) = self.sessions.find(id) else { return };
        if let Some(blocked) = &mut self.sessions.get_mut(slot).blocked {
            blocked.timeout = None;
        }
        if let Some(blocked) = self.unblock(slot) {
            self.answer(slot, |reply| blocked.wait.null.write(reply));
        }
    }

    /// CLIENT UNBLOCK: ends a wait as if its time were over, or with an error. Whether the client was waiting.
    pub(crate) fn unblock_client(&mut self, id: u64, with_error: bool) -> bool {
        let Some(slot) = self.sessions.find(id) else { return false };
        let Some(blocked) = self.unblock(slot) else { return false };
        if with_error {
            self.stats.failed(blocked.command, crate::spec::errors::UNBLOCKED.as_bytes());
        }
        self.answer(slot, |reply| match with_error {
            true => reply.error(crate::spec::errors::UNBLOCKED.as_bytes()),
            false => blocked.wait.null.write(reply),
        });
        true
    }

    /// How many clients wait; with a key (of database `db`), how many wait for that.
    pub(crate) fn blocked_clients(&self, key: Option<(usize, &[u8])>) -> usize {
        match key {
            None => self.sessions.slots().filter(|&slot| self.counts_as_blocked(slot)).count(),
            Some((db, key)) => {
                let state = WaitClass::State as u8;
                self.keyspace.waiters.queue(db, key).filter(|(_, waiter)| waiter.class != state).count()
            }
        }
    }

    /// How many waiting clients have been woken since the start: by keys or states, not by timeouts.
    pub fn unblocked_clients(&self) -> u64 {
        self.stats.unblocked_clients
    }

    /// A client that waits for a state is a test looking on.
    fn counts_as_blocked(&self, slot: Slot) -> bool {
        let blocked = &self.sessions.get(slot).blocked;
        blocked.as_ref().is_some_and(|blocked| blocked.wait.class != WaitClass::State)
    }
}

/// A deadline so many milliseconds after now; the furthest there is when that overflows.
fn after(now_ms: i64, ms: u64) -> i64 {
    now_ms.saturating_add_unsigned(ms)
}
