//! Tickets: waits that a client has left behind, to be notified when one is served. Such a waiter has a ticket, and a
//! number of its own among the numbers of clients.

use crate::memory::tree_heap_bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Set in the numbers of waiters that have a ticket. The other bits are the ticket.
const TICKET: u64 = 1 << 63;

/// The waiter that has a ticket.
pub fn waiter_of(ticket: u64) -> u64 {
    ticket | TICKET
}

/// The ticket of a waiter, if it has one.
#[inline]
pub fn ticket_of(waiter: u64) -> Option<u64> {
    (waiter & TICKET != 0).then_some(waiter & !TICKET)
}

/// The tickets of each client.
#[derive(Debug, Default)]
pub struct Tickets {
    clients: BTreeMap<u64, u64>,
    by_client: BTreeMap<u64, BTreeSet<u64>>,
}

impl Tickets {
    /// Gives a client a ticket. O(log n).
    pub fn add(&mut self, ticket: u64, client: u64) {
        self.clients.insert(ticket, client);
        self.by_client.entry(client).or_default().insert(ticket);
    }

    /// Removes a ticket. O(log n).
    pub fn remove(&mut self, ticket: u64) {
        let Some(client) = self.clients.remove(&ticket) else { return };
        if let Some(tickets) = self.by_client.get_mut(&client) {
            tickets.remove(&ticket);
            if tickets.is_empty() {
                self.by_client.remove(&client);
            }
        }
    }

    /// The client that waits, directly or by a ticket. O(log n).
    pub fn client_of(&self, waiter: u64) -> u64 {
        ticket_of(waiter).and_then(|ticket| self.clients.get(&ticket).copied()).unwrap_or(waiter)
    }

    /// The tickets of a client, oldest first.
    pub fn of(&self, client: u64) -> Vec<u64> {
        self.by_client.get(&client).into_iter().flatten().copied().collect()
    }

    /// All tickets, oldest first.
    pub fn all(&self) -> Vec<u64> {
        self.clients.keys().copied().collect()
    }

    /// The number of a client's tickets. O(log n).
    pub fn count(&self, client: u64) -> usize {
        self.by_client.get(&client).map_or(0, BTreeSet::len)
    }

    /// Whether there are no tickets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Bytes of memory of all tickets, approximately. O(1).
    pub(super) fn memory(&self) -> usize {
        let (tickets, clients) = (self.clients.len(), self.by_client.len());
        tree_heap_bytes(usize::from(tickets > 0), tickets, size_of::<(u64, u64)>())
            + tree_heap_bytes(usize::from(clients > 0), clients, size_of::<(u64, BTreeSet<u64>)>())
            + tree_heap_bytes(clients, tickets, size_of::<u64>())
    }
}
