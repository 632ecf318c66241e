//! Waits with a ticket: the client continues, and a push reports the end of the wait.

use super::engine::Engine;
use crate::clients::Slot;
use crate::locks::HistoryCause;
use crate::spec::Args;
use crate::waits::{Blocked, MAX_TICKETS, TOO_MANY_TICKETS, TicketEnd, Undone};
use lockwheel_resp::{Protocol, Reply, Writer};
use lockwheel_store::keyspace::{ticket_of, waiter_of};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// Lets a request wait for its keys or its timeout while its client continues, with the ticket as the reply.
    pub(super) fn leave_waiting(&mut self, slot: Slot, undone: Undone, reply: &mut dyn Reply) {
        let client = self.sessions.get(slot).id;
        if self.keyspace.waiters.tickets.count(client) >= MAX_TICKETS {
            self.wait_control().refuse_ticket(slot, &undone);
            return reply.error(TOO_MANY_TICKETS.as_bytes());
        }
        let waiter = self.wait_control().park(slot, undone);
        let Some(ticket) = ticket_of(waiter) else { return };
        self.history().ticket(ticket, None);
        reply.array(2);
        reply.status(b"QUEUED");
        reply.integer(ticket as i64);
    }

    /// Retries the request of a ticket. Returns whether it is done.
    pub(super) fn retry_ticket(&mut self, ticket: u64) -> bool {
        let id = waiter_of(ticket);
        let Some(slot) = self.sessions.find(self.keyspace.waiters.tickets.client_of(id)) else {
            return false;
        };
        if !self.sessions.get(slot).takes_pushes() {
            self.end_ticket(ticket, TicketEnd::GivenUp);
            return true;
        }
        let Some(blocked) = self.waits.remove(id) else { return false };
        let began_ns = self.clock.reading_ns();
        let mut reply = Vec::new();
        // A panic disconnects the client whose command panics, not the one that has woken it.
        let asked = catch_unwind(AssertUnwindSafe(|| {
            if !blocked.may_be_served(&mut self.keyspace, self.clock.now())? {
                return Ok(false);
            }
            if self.config.lock_history {
                self.history().retry(slot, &blocked, Some(ticket));
            }
            let argv = blocked.request.argv();
            self.attempt(slot, &blocked, Args::new(&argv), &mut Writer::new(&mut reply, Protocol::Resp3))
        }));
        self.waits.insert(id, blocked);
        let end = match &asked {
            Err(_) => {
                self.cut_off(slot);
                self.deliver();
                self.replicate();
                return true;
            }
            Ok(Ok(false)) => return false,
            Ok(Ok(true)) => TicketEnd::Granted(&reply),
            Ok(Err(error)) => TicketEnd::Failed(error),
        };
        self.observers.stats.unblocked_clients += 1;
        if let TicketEnd::Failed(_) = end {
            self.history().ticket(ticket, Some(HistoryCause::Error));
        }
        self.history().unsent(slot);
        if let Some(blocked) = self.end_ticket(ticket, end) {
            self.call_observer().served(slot, &blocked, began_ns);
        }
        self.deliver();
        self.replicate();
        true
    }

    /// Ends the wait of a ticket and notifies its client. Returns the request if it was waiting.
    pub(super) fn end_ticket(&mut self, ticket: u64, end: TicketEnd<'_>) -> Option<Blocked> {
        let waiter = waiter_of(ticket);
        match end {
            TicketEnd::Granted(_) | TicketEnd::Failed(_) => {}
            TicketEnd::TimedOut => self.history().ticket(ticket, Some(HistoryCause::Timeout)),
            TicketEnd::GivenUp => self.history().ticket(ticket, Some(HistoryCause::Disconnected)),
            TicketEnd::Cancelled(error, cause) => self.history().cancelled(waiter, cause, error),
        }
        let slot = self.sessions.find(self.keyspace.waiters.tickets.client_of(waiter));
        let blocked = self.wait_control().take_ticket(ticket)?;
        if !matches!(end, TicketEnd::GivenUp)
            && let Some(slot) = slot
        {
            self.change_output(slot, |output, slot| {
                output.push(slot, |delivery| {
                    end.push(ticket, &blocked).into_iter().for_each(|push| delivery.push_bytes(&push));
                })
            });
        }
        match end {
            TicketEnd::Granted(_) => {}
            TicketEnd::Cancelled(error, _) | TicketEnd::Failed(error) => {
                self.wait_control().tell_failed(&blocked, error);
            }
            TicketEnd::TimedOut => self.wait_control().tell_left(&blocked, "timedout"),
            TicketEnd::GivenUp => self.wait_control().tell_left(&blocked, "cancelled"),
        }
        Some(blocked)
    }

    /// Ends the waits of all tickets of a client: timed out in a reset of the server, given up if the client
    /// disconnects, resets itself or no longer gets pushes.
    pub(crate) fn end_tickets(&mut self, client: u64, end: TicketEnd<'_>) {
        if !self.keyspace.waiters.tickets.is_empty() {
            for ticket in self.keyspace.waiters.tickets.of(client) {
                self.end_ticket(ticket, end);
            }
        }
    }
}
