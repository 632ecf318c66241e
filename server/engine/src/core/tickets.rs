//! Requests that wait while their client goes on: it has a ticket, and a push tells it how the wait has ended.

use super::dispatch::Unfinished;
use super::engine::{Engine, Retry};
use super::parked::Blocked;
use crate::clients::{Delivery, HeldState, Request, Slot};
use crate::clock::{Timer, TimerKind};
use crate::locks::HistoryCause;
use crate::spec::{Args, CommandError, CommandId, OnKeys};
use lockwheel_resp::{Protocol, Reply, Writer, allocation};
use lockwheel_store::keyspace::{Place, Waiter, waiter_of};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most tickets of one client.
const MOST: usize = 1024;

const FULL: CommandError = CommandError::text("WAITQFULL this connection waits for 1024 locks already");

/// How a wait by a ticket has ended.
enum Ending<'a> {
    /// The request was served: this is its whole reply.
    Granted(&'a [u8]),
    /// Its time was over.
    TimedOut,
    /// It was cancelled, or an error has ended it.
    Cancelled(&'a [u8]),
}

impl Engine {
    /// Lets a request wait until one of its keys is ready or its time is over, while its client goes on: that is
    /// answered the ticket.
    pub(super) fn leave_waiting(
        &mut self,
        slot: Slot,
        command: CommandId,
        request: Request,
        unfinished: Unfinished,
        reply: &mut dyn Reply,
    ) {
        let Unfinished { wait, took_ns } = unfinished;
        let Retry::OnKeys(on) = wait.retry else { return };
        let session = self.sessions.get(slot);
        let (client, db) = (session.id, session.db);
        if self.keyspace.waiters.tickets.count(client) >= MOST {
            let argv = request.argv();
            on.attempt.leave(&mut self.keyspace.tx(db, self.clock.now()), Args::new(&argv));
            self.tell_left_queues(&on, db, &argv, "cancelled");
            self.observers.stats.failed(command, FULL.as_bytes());
            return reply.error(FULL.as_bytes());
        }
        let mut held = HeldState::new(session.delivery.buffers());
        held.set(request.memory());
        let ticket = self.keyspace.waiters.next_ticket();
        let (id, place) = (waiter_of(ticket), Place { rank: on.rank, arrival: ticket });
        let argv = request.argv();
        for key in on.queues(&argv) {
            let label = on.label.map_or(&[][..], |label| argv[label]).into();
            let of_absent = (on.class.accepts)(None);
            let waiter = Waiter { id, class: on.class.name, label, of_absent };
            self.keyspace.add_waiter(db, key, on.class.line, place, waiter);
        }
        self.keyspace.waiters.tickets.add(ticket, client);
        let timeout = wait.timeout_ms.map(|ms| {
            let timer = Timer { kind: TimerKind::Ticket, client: ticket, order: self.keyspace.next_order() };
            // Saturates on overflow.
            let at_ms = self.clock.now().monotonic_ms().saturating_add_unsigned(ms);
            self.clock.timers_mut().insert(timer, at_ms)
        });
        let since_ms = self.clock.now().monotonic_ms();
        let blocked = Blocked {
            command,
            request,
            held,
            retry: Retry::OnKeys(on),
            on_reply: Vec::new(),
            again: None,
            null: wait.null,
            timeout,
            place,
            db,
            since_ms,
            took_ns,
        };
        self.parked.insert(id, blocked);
        self.time_retry(id);
        self.history().ticket(ticket, None);
        reply.array(2);
        reply.status(b"QUEUED");
        reply.integer(ticket as i64);
    }

    /// Tries the request of a ticket again; whether it is done.
    pub(super) fn retry_ticket(&mut self, ticket: u64) -> bool {
        let id = waiter_of(ticket);
        let Some(slot) = self.sessions.find(self.keyspace.waiters.tickets.client_of(id)) else {
            return false;
        };
        if !self.can_be_told(slot) {
            self.give_up(ticket);
            return true;
        }
        let Some(blocked) = self.parked.remove(id) else { return false };
        if self.config.lock_history {
            self.history().retry(slot, &blocked, Some(ticket));
        }
        let began_ns = self.clock.reading_ns();
        let mut reply = Vec::new();
        // A panic in a command disconnects the client that waits with it, not the one whose request woke it.
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let argv = blocked.request.argv();
            self.attempt(slot, &blocked, Args::new(&argv), &mut Writer::new(&mut reply, Protocol::Resp3))
        }));
        self.parked.insert(id, blocked);
        let ending = match &asked {
            Err(_) => {
                self.cut_off(slot);
                return true;
            }
            Ok(Ok(false)) => return false,
            Ok(Ok(true)) => Ending::Granted(&reply),
            Ok(Err(error)) => Ending::Cancelled(error.as_bytes()),
        };
        self.observers.stats.unblocked_clients += 1;
        let error = asked.as_ref().ok().and_then(|asked| asked.as_ref().err());
        if error.is_some() {
            self.history().ticket(ticket, Some(HistoryCause::Error));
        }
        if self.config.lock_history {
            self.note_unsent(slot);
        }
        if let Some(blocked) = self.end_ticket(ticket, &ending) {
            self.observe_served(slot, &blocked, began_ns);
            if let Some(error) = error {
                self.tell_failed(&blocked, error);
            }
        }
        self.deliver();
        true
    }

    /// A wait has ended with an error, which its client is told.
    pub(super) fn tell_failed(&mut self, blocked: &Blocked<Retry>, error: &CommandError) {
        self.tell_left(blocked, "cancelled");
        self.observers.stats.failed(blocked.command, error.as_bytes());
    }

    /// The time of a ticket is over.
    pub(super) fn ticket_over(&mut self, ticket: u64) {
        if let Some(blocked) = self.parked.get_mut(waiter_of(ticket)) {
            // Its timer has fired.
            blocked.timeout = None;
        }
        self.end_ticket_in_vain(ticket);
    }

    fn end_ticket_in_vain(&mut self, ticket: u64) {
        self.history().ticket(ticket, Some(HistoryCause::Timeout));
        if let Some(blocked) = self.end_ticket(ticket, &Ending::TimedOut) {
            self.tell_left(&blocked, "timedout");
        }
    }

    /// The tickets of this client end as if their time were over: the server begins anew, and it stays.
    pub(super) fn end_tickets(&mut self, client: u64) {
        for ticket in self.keyspace.waiters.tickets.of(client) {
            self.end_ticket_in_vain(ticket);
        }
    }

    /// Ends the wait of a ticket with an error. Whether it was waiting.
    pub(super) fn cancel_ticket(&mut self, ticket: u64, error: &CommandError, cause: HistoryCause) -> bool {
        self.history().cancelled(waiter_of(ticket), cause, error);
        let Some(blocked) = self.end_ticket(ticket, &Ending::Cancelled(error.as_bytes())) else {
            return false;
        };
        self.tell_failed(&blocked, error);
        true
    }

    /// The client of these tickets is gone, begins anew, or gets no pushes any more.
    pub(crate) fn give_up_tickets(&mut self, client: u64) {
        if !self.keyspace.waiters.tickets.is_empty() {
            for ticket in self.keyspace.waiters.tickets.of(client) {
                self.give_up(ticket);
            }
        }
    }

    fn give_up(&mut self, ticket: u64) {
        self.history().ticket(ticket, Some(HistoryCause::Disconnected));
        if let Some(blocked) = self.take_ticket(ticket) {
            self.tell_left(&blocked, "cancelled");
        }
    }

    /// Whether a client can be told how a wait has ended.
    fn can_be_told(&self, slot: Slot) -> bool {
        let session = self.sessions.get(slot);
        session.protocol == Protocol::Resp3 && session.closing.is_none() && !session.is_replica
    }

    /// Takes a ticket out of every queue it waits in.
    fn take_ticket(&mut self, ticket: u64) -> Option<Blocked<Retry>> {
        let blocked = self.parked.remove(waiter_of(ticket))?;
        self.keyspace.waiters.tickets.remove(ticket);
        if let Retry::OnKeys(on) = &blocked.retry {
            self.leave_queues(&blocked, on);
        }
        if let Some(timer) = blocked.timeout {
            self.clock.timers_mut().cancel(timer);
        }
        Some(blocked)
    }

    /// The same; its client is told why.
    fn end_ticket(&mut self, ticket: u64, ending: &Ending<'_>) -> Option<Blocked<Retry>> {
        let client = self.keyspace.waiters.tickets.client_of(waiter_of(ticket));
        let blocked = self.take_ticket(ticket)?;
        if let Retry::OnKeys(on) = &blocked.retry
            && let Some(slot) = self.sessions.find(client)
            && self.can_be_told(slot)
            && !self.is_lost(slot)
        {
            let push = |delivery: &mut Delivery| delivery.push_bytes(&push(ticket, &blocked, on, ending));
            if self.push_contained(slot, push) {
                self.check_output_limit(slot);
                self.wake(slot);
            }
        }
        Some(blocked)
    }
}

/// What the client of a ticket is told.
fn push(ticket: u64, blocked: &Blocked<Retry>, on: &OnKeys, ending: &Ending<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Protocol::Resp3);
    let (kind, last) = match ending {
        Ending::Granted(_) => ("lock-granted", Some("reply")),
        Ending::TimedOut => ("lock-timedout", None),
        Ending::Cancelled(_) => ("lock-cancelled", Some("error")),
    };
    let argv = blocked.request.argv();
    writer.push(2);
    writer.bulk(kind.as_bytes());
    writer.map(4 + usize::from(last.is_some()));
    writer.bulk(b"ticket");
    writer.integer(ticket as i64);
    writer.bulk(b"db");
    writer.integer(blocked.db as i64);
    if let [key] = on.keys[..] {
        writer.bulk(b"key");
        writer.bulk(argv[key]);
    } else {
        writer.bulk(b"keys");
        writer.array(on.keys.len());
        on.keys.iter().for_each(|&key| writer.bulk(argv[key]));
    }
    writer.bulk(b"owner");
    writer.bulk(on.label.map_or(&b""[..], |label| argv[label]));
    if let Some(name) = last {
        writer.bulk(name.as_bytes());
    }
    match ending {
        Ending::Granted(reply) => allocation::append(&mut bytes, reply),
        Ending::Cancelled(error) => writer.bulk(error),
        Ending::TimedOut => {}
    }
    bytes
}
