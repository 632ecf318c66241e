//! The subscriber of changes that records which clients have read which keys.

use super::mode::{Caching, TrackedClient, TrackingMode};
use super::prefixes::{ChangedKeys, Prefixes};
use super::table::TrackingTable;
use lockwheel_resp::allocation;
use lockwheel_store::keyspace::{
    CalledBy, Change, Context, Effect, Event, Interests, Rng, Subscriber, What, events,
};
use lockwheel_store::memory::tree_heap_bytes;
use std::collections::BTreeMap;

/// The most keys and bytes of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrackingLimit {
    keys: usize,
    bytes: usize,
}

impl TrackingLimit {
    /// The limit of `keys` keys (`tracking-table-max-keys`; 0: no limit), and of an average of a kibibyte for each.
    /// Redis bounds only the number of keys, although a name may have half a gigabyte.
    pub(crate) fn new(keys: usize) -> Self {
        /// The average bytes of a key.
        const OF_A_KEY: usize = 1024;
        if keys == 0 {
            return TrackingLimit { keys: usize::MAX, bytes: usize::MAX };
        }
        TrackingLimit { keys, bytes: keys.saturating_mul(OF_A_KEY).max(1 << 20) }
    }
}

/// A client's notifications after the reply to its present request: keys that it names have expired.
#[derive(Debug)]
pub(crate) struct HeldNews {
    pub(crate) client: u64,
    /// The keys, in order; `None`: all of them.
    pub(crate) keys: Vec<Option<Box<[u8]>>>,
}

/// The clients that track keys, the keys that they have read, and the notifications still to be sent.
#[derive(Debug)]
pub(crate) struct Tracker {
    clients: BTreeMap<u64, TrackedClient>,
    table: TrackingTable,
    prefixes: Prefixes,
    limit: TrackingLimit,
    /// The number of clients that have used CLIENT CACHING for their next request.
    said: usize,
    /// The notifications that are held until after a reply.
    held: Option<HeldNews>,
    /// Chooses the keys that are forgotten.
    rng: Rng,
}

impl Tracker {
    /// A tracker without clients.
    pub(crate) fn new(limit: TrackingLimit, seed: u64) -> Self {
        Tracker {
            clients: BTreeMap::new(),
            table: TrackingTable::new(seed),
            prefixes: Prefixes::default(),
            limit,
            said: 0,
            held: None,
            rng: Rng::new(seed),
        }
    }

    pub(crate) fn set_limit(&mut self, limit: TrackingLimit) {
        self.limit = limit;
    }

    /// Returns the state of a client, if it has tracked keys. O(log n).
    pub(crate) fn client(&self, id: u64) -> Option<&TrackedClient> {
        self.clients.get(&id)
    }

    /// Returns the state of a client for changes, if it has tracked keys. O(log n).
    pub(crate) fn client_mut(&mut self, id: u64) -> Option<&mut TrackedClient> {
        self.clients.get_mut(&id)
    }

    /// Whether no connected client has tracked keys.
    pub(crate) fn is_unused(&self) -> bool {
        self.clients.is_empty()
    }

    /// The number of clients that track keys now. O(clients that have tracked keys).
    pub(crate) fn tracking(&self) -> usize {
        self.clients.values().filter(|client| client.is_on).count()
    }

    pub(crate) fn keys(&self) -> usize {
        self.table.len()
    }

    /// The number of pairs of a key and a client in the table.
    pub(crate) fn items(&self) -> usize {
        self.table.items()
    }

    /// The number of different prefixes.
    pub(crate) fn prefixes(&self) -> usize {
        self.prefixes.len()
    }

    /// Makes a client track keys in this mode, with these prefixes in addition to its present ones.
    pub(crate) fn turn_on(&mut self, id: u64, mode: TrackingMode, redirect: u64, prefixes: &[&[u8]]) {
        let client = self.clients.entry(id).or_default();
        (client.is_on, client.mode, client.redirect, client.is_broken) = (true, mode, redirect, false);
        if !mode.contains(TrackingMode::BCAST) {
            return;
        }
        let everything: &[&[u8]] = &[b""];
        for &prefix in if prefixes.is_empty() { everything } else { prefixes } {
            client.add_prefix(prefix);
            self.prefixes.add(prefix, id);
        }
    }

    /// Sets what CLIENT CACHING says about a client's next request. O(log n).
    pub(crate) fn set_caching(&mut self, id: u64, caching: Caching) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        self.said -= usize::from(client.caching == Caching::Said);
        client.caching = caching;
        self.said += usize::from(caching == Caching::Said);
    }

    /// Ends the tracking of a client. The keys that it has read stay in the table, as in Redis.
    pub(crate) fn turn_off(&mut self, id: u64) {
        self.set_caching(id, Caching::Unsaid);
        let Some(client) = self.clients.get_mut(&id) else { return };
        for prefix in std::mem::take(&mut client.prefixes) {
            self.prefixes.remove(&prefix, id);
        }
        *client = TrackedClient { redirect: client.redirect, ..TrackedClient::default() };
    }

    /// Removes a client that is gone. With the last client, the table is cleared.
    pub(crate) fn leave(&mut self, id: u64) {
        self.turn_off(id);
        self.clients.remove(&id);
        if self.clients.is_empty() {
            self.table.clear();
        }
    }

    /// Whether the keys of a client's present request are remembered. O(log n).
    pub(crate) fn remembers(&self, id: u64) -> bool {
        self.clients.get(&id).is_some_and(TrackedClient::remembers)
    }

    /// Records that a client has read a key. O(log n), or more if it is the first read since the key was changed.
    pub(crate) fn remember(&mut self, id: u64, key: &[u8]) {
        let clients = &self.clients;
        self.table.remember(key, id, |id| clients.contains_key(&id));
    }

    /// Whether the table is over its limit.
    pub(crate) fn is_full(&self) -> bool {
        self.table.len() > self.limit.keys || self.table.bytes() > self.limit.bytes
    }

    /// Forgets a random key. Returns the notification of its readers, if any.
    pub(crate) fn forget_one(&mut self) -> Option<Effect> {
        let (key, readers) = self.table.forget_random(&mut self.rng)?;
        self.invalidation(&key, &readers, None)
    }

    /// Returns the notification that a key, changed by `by`, is invalid for its readers, if any is notified.
    fn invalidation(&self, key: &[u8], readers: &[u64], by: Option<u64>) -> Option<Effect> {
        let is_told = |id: &u64| {
            let client = self.clients.get(id);
            client.is_some_and(|client| {
                client.is_on && !client.mode.contains(TrackingMode::BCAST) && !client.ignores(by == Some(*id))
            })
        };
        let sessions: Box<[u64]> = readers.iter().copied().filter(is_told).collect();
        // If there is no memory for a long name, the clients must forget all keys.
        (!sessions.is_empty()).then(|| Effect::Invalidate { sessions, key: allocation::try_copy(key).ok() })
    }

    /// Forgets all keys. Returns the notification of all clients that track keys.
    pub(crate) fn forget_all(&mut self) -> Option<Effect> {
        self.table.clear();
        let on = self.clients.iter().filter(|(_, client)| client.is_on);
        let sessions: Box<[u64]> = on.map(|(&id, _)| id).collect();
        (!sessions.is_empty()).then_some(Effect::Invalidate { sessions, key: None })
    }

    pub(crate) fn take_changed(&mut self) -> Vec<(ChangedKeys, Vec<u64>)> {
        self.prefixes.take_changed()
    }

    fn key_changed(&mut self, change: &Change<'_>, event: Option<Event>, context: &mut Context<'_>) {
        let by = change.actor.session.map(u64::from);
        if self.prefixes.len() > 0 {
            // A change by a script does not count as a client's own change here, as in Redis.
            let by = by.filter(|_| !matches!(change.actor.called_by, CalledBy::Script(_)));
            if self.prefixes.changed(change.key, by) {
                context.push_effect(Effect::BroadcastDue);
            }
        }
        let Some(readers) = self.table.forget(change.key) else { return };
        let Some(effect) = self.invalidation(change.key, &readers, by) else { return };
        match event {
            Some(event) if event != events::EXPIRED => context.push_before_event(effect, change.key, event),
            _ => context.push_effect(effect),
        }
    }

    /// Takes the tracker, and leaves an empty one with the same limit.
    pub(crate) fn take(&mut self) -> Self {
        let rest = Tracker::new(self.limit, 0);
        std::mem::replace(self, rest)
    }

    /// Sets the client whose notifications are held, if any. Returns those that were held.
    pub(crate) fn hold(&mut self, news: Option<HeldNews>) -> Option<HeldNews> {
        std::mem::replace(&mut self.held, news)
    }

    /// Holds a notification about a key, or about all keys (`None`), if one of these clients is the one whose
    /// notifications are held. Returns that client.
    pub(crate) fn hold_key(&mut self, clients: &[u64], key: Option<&[u8]>) -> Option<u64> {
        let held = self.held.as_mut().filter(|held| clients.contains(&held.client))?;
        held.keys.push(key.map(Box::from));
        Some(held.client)
    }

    /// Whether any client has used CLIENT CACHING for its next request.
    pub(crate) fn has_caching(&self) -> bool {
        self.said > 0
    }
}

impl Subscriber for Tracker {
    fn interests(&self) -> Interests {
        if self.is_unused() { Interests::NONE } else { Interests::EVERY_CHANGE }
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        match change.what {
            What::Changed { event } => self.key_changed(change, *event, context),
            // The other databases of FLUSHALL follow the first.
            What::Flushed(flushed) if !flushed.is_rest => {
                self.forget_all().into_iter().for_each(|effect| context.push_effect(effect));
            }
            _ => {}
        }
    }

    fn memory(&self) -> usize {
        let entry_bytes = size_of::<(u64, TrackedClient)>();
        let clients = tree_heap_bytes(usize::from(!self.clients.is_empty()), self.clients.len(), entry_bytes);
        self.table.memory() + self.prefixes.memory() + clients
    }
}
