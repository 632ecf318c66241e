//! Changes of waiting requests, with the parts that these changes affect.

use super::state::{Blocked, Retry, Waits};
use super::tickets::TOO_MANY_TICKETS;
use crate::clients::{Request, Sessions, Slot};
use crate::clock::{EngineClock, TimerKind};
use crate::config::LockWaitParameters;
use crate::locks::wait_events;
use crate::pubsub::PubSub;
use crate::spec::{Answer, Args, Asking, CommandError, CommandId, OnKeys, Wait};
use crate::statistics::Stats;
use lockwheel_store::keyspace::{
    KeyTimer, Keyspace, Order, Place, Signal, Tx, Waiter, WaiterId, ticket_of, waiter_of,
};

/// A command that its handler has not completed.
#[derive(Debug)]
pub(crate) struct Undone {
    pub(crate) command: CommandId,
    pub(crate) request: Request,
    /// The wait that the command asks for.
    pub(crate) wait: Box<Wait<Retry>>,
    /// The time that the handler has taken so far, in nanoseconds.
    pub(crate) took_ns: u64,
}

/// The waiting requests, with the parts that change when a wait begins or ends.
#[derive(Debug)]
pub(crate) struct WaitControl<'e> {
    pub(crate) waits: &'e mut Waits,
    pub(crate) keyspace: &'e mut Keyspace,
    pub(crate) sessions: &'e mut Sessions,
    pub(crate) clock: &'e mut EngineClock,
    pub(crate) stats: &'e mut Stats,
    pub(crate) pubsub: &'e PubSub,
    /// The number of the present batch.
    pub(crate) batch: u64,
    /// Whether this server is a replica, whose keys belong to its master.
    pub(crate) is_replica: bool,
    pub(crate) lock_waits: LockWaitParameters,
}

impl WaitControl<'_> {
    /// Parks a request of a client until one of its keys is ready or its timeout passes. If the client continues
    /// meanwhile, the request waits by a ticket. Returns the id of the waiter.
    pub(crate) fn park(&mut self, slot: Slot, undone: Undone) -> WaiterId {
        let Undone { command, request, wait, took_ns } = undone;
        let Wait { retry, timeout_ms, real_time, null, .. } = *wait;
        let arrival = self.keyspace.waiters.next_ticket();
        let (client, db) = (self.sessions.get(slot).id, self.sessions.get(slot).db);
        let (mut id, mut rank) = (client, 0);
        let mut kind = if real_time { TimerKind::RealWait } else { TimerKind::Wait };
        if let Retry::OnKeys(on) = &retry {
            rank = on.rank;
            if on.by_ticket {
                (id, kind) = (waiter_of(arrival), TimerKind::Ticket);
                self.keyspace.waiters.tickets.add(arrival, client);
            }
            self.join_queues(id, Place { rank, arrival }, (on, db), &request.argv());
        }
        let timed = ticket_of(id).unwrap_or(id);
        let timeout = timeout_ms.map(|ms| self.clock.set_timer(self.keyspace, (kind, timed), ms));
        let (session, now) = (self.sessions.get_mut(slot), (self.clock.now(), 0));
        let blocked = Blocked::new((command, request), retry, session, Place { rank, arrival }, now);
        self.waits.insert(id, blocked.with_end(null, timeout, took_ns));
        if id == client {
            session.blocked = true;
        }
        self.time_retry(id);
        id
    }

    fn join_queues(&mut self, id: WaiterId, place: Place, (on, db): (&OnKeys, usize), argv: &[&[u8]]) {
        for key in on.queues(argv) {
            let label = on.label.map_or(&[][..], |label| argv[label]).into();
            let of_absent = (on.class.accepts)(None);
            let waiter = Waiter { id, class: on.class.name, label, of_absent };
            self.keyspace.add_waiter(db, key, on.class.line, place, waiter);
        }
    }

    /// Schedules the retry of a waiter that time alone may serve, if it is the first on its key.
    pub(crate) fn time_retry(&mut self, id: WaiterId) {
        let Some(blocked) = self.waits.get(id) else { return };
        let Retry::OnKeys(on) = &blocked.retry else { return };
        let (request, db, class) = (&blocked.request, blocked.db, on.class.name);
        let key = on.beside.as_deref().unwrap_or_else(|| request.argument(on.keys[0]));
        if self.keyspace.tx(db, self.clock.now()).first_waiting(key, class) == Some(blocked.place) {
            let mut tx = self.keyspace.tx(db, self.clock.now());
            // The waiter has just not been served. A retry at the same instant would repeat for ever.
            let next_ms = tx.over_until_ms().saturating_add(1);
            let at_ms = on.attempt.ready_at_ms(&mut tx, &|at| request.argument(at));
            let at_ms = at_ms.map(|at_ms| at_ms.max(next_ms));
            tx.set_key_timer(key, KeyTimer::Retry, at_ms.map(|at_ms| (at_ms, Order::default())));
        }
    }

    /// Restarts the timeout of a client, with this many milliseconds of real time.
    pub(crate) fn wait_real(&mut self, client: u64, ms: u64) {
        let Some(blocked) = self.waits.get_mut(client) else { return };
        let timer = self.clock.set_timer(self.keyspace, (TimerKind::RealWait, client), ms);
        let earlier = blocked.timeout.replace(timer);
        earlier.into_iter().for_each(|timer| self.clock.timers_mut().cancel(timer));
    }

    pub(crate) fn cancel_timeout(&mut self, client: u64) {
        let timeout = self.waits.get_mut(client).and_then(|blocked| blocked.timeout.take());
        timeout.into_iter().for_each(|timer| self.clock.timers_mut().cancel(timer));
    }

    /// Lets a client that has waited for all servers' histories wait until it has read them. `is_served`: from now on.
    pub(crate) fn begin_to_read(&mut self, (client, is_served): (u64, bool)) {
        let Some(blocked) = self.waits.get_mut(client) else { return };
        blocked.retry = Retry::Reading;
        if is_served {
            self.wait_real(client, 0);
        }
    }
}

impl WaitControl<'_> {
    /// Removes the waiting request of a client, if there is one, from every queue, and returns it.
    pub(crate) fn take(&mut self, slot: Slot) -> Option<Blocked> {
        let session = self.sessions.get_mut(slot);
        if !std::mem::take(&mut session.blocked) {
            return None;
        }
        let blocked = self.waits.remove(session.id)?;
        (session.last_active, session.unblocked_in) = (self.clock.now(), self.batch);
        let id = session.id;
        if let Retry::Always(state) = &blocked.retry {
            self.waits.end_state(self.keyspace, &**state, id);
        }
        self.leave_queues(&blocked);
        Some(blocked)
    }

    /// Removes the waiting request of a ticket, if there is one, from every queue, and returns it.
    pub(crate) fn take_ticket(&mut self, ticket: u64) -> Option<Blocked> {
        let blocked = self.waits.remove(waiter_of(ticket))?;
        self.keyspace.waiters.tickets.remove(ticket);
        self.leave_queues(&blocked);
        Some(blocked)
    }

    fn leave_queues(&mut self, blocked: &Blocked) {
        if let Some(timer) = blocked.timeout {
            self.clock.timers_mut().cancel(timer);
        }
        let Retry::OnKeys(on) = &blocked.retry else { return };
        let argv = blocked.request.argv();
        for key in on.queues(&argv) {
            self.keyspace.remove_waiter(blocked.db, key, blocked.place);
            // Waiters behind it may now be served.
            if on.class.asking == Asking::InOrder {
                self.keyspace.waiters.signal(blocked.db, key, Signal::Less);
            }
        }
        // A replica changes nothing by itself. Only its master removes a place from a fair lock's queue.
        if !self.is_replica {
            on.attempt.leave(&mut self.tx(blocked.db), Args::new(&argv));
        }
    }

    /// Returns the answer to a request on keys whose timeout has passed, if it is not a null.
    pub(crate) fn keys_on_timeout(&mut self, blocked: &Blocked) -> Option<Answer> {
        let Retry::OnKeys(on) = &blocked.retry else { return None };
        let argv = blocked.request.argv();
        on.attempt.on_timeout(&self.tx(blocked.db), Args::new(&argv))
    }

    /// Refuses a command that would wait by a ticket because its client has too many.
    pub(crate) fn refuse_ticket(&mut self, slot: Slot, undone: &Undone) {
        let Retry::OnKeys(on) = &undone.wait.retry else { return };
        let (db, argv) = (self.sessions.get(slot).db, undone.request.argv());
        on.attempt.leave(&mut self.tx(db), Args::new(&argv));
        self.tell_left_queues(on, db, &argv, "cancelled");
        self.stats.failed(undone.command, TOO_MANY_TICKETS.as_bytes());
    }

    /// Records that a wait has ended with an error, and notifies listeners.
    pub(crate) fn tell_failed(&mut self, blocked: &Blocked, error: &CommandError) {
        self.tell_left(blocked, "cancelled");
        self.stats.failed(blocked.command, error.as_bytes());
    }

    /// Notifies listeners that a client no longer waits for a lock, and was not served.
    pub(crate) fn tell_left(&mut self, blocked: &Blocked, event: &str) {
        if let Retry::OnKeys(on) = &blocked.retry {
            self.tell_left_queues(on, blocked.db, &blocked.request.argv(), event);
        }
    }

    fn tell_left_queues(&mut self, on: &OnKeys, db: usize, argv: &[&[u8]], event: &str) {
        let Some(owner) = on.label.filter(|_| self.keyspace.has_server_audience()) else { return };
        for &key in &on.keys {
            wait_events::left(self.keyspace, self.clock.now(), (db, argv[key]), argv[owner], event);
        }
    }

    fn tx(&mut self, db: usize) -> Tx<'_> {
        self.keyspace.tx(db, self.clock.now())
    }
}
