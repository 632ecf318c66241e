//! Client-side caching as a capability: the keys that clients track, and the clients that are notified.

use super::mode::{Caching, TrackedClient, TrackingMode};
use super::prefixes::ChangedKeys;
use super::request::{TrackingRequest, check};
use super::tracker::{HeldNews, Tracker, TrackingLimit};
use crate::clients::{Closing, Session, Sessions, Slot};
use crate::spec::{Args, Command, CommandError, CommandTable, Flags};
use lockwheel_resp::Protocol;
use lockwheel_store::keyspace::{CalledBy, Keyspace};

/// The most keys that are forgotten at once while the table is over its limit. The next batches forget the rest.
const MAX_FORGOTTEN: usize = 1000;

/// The tracked keys of all clients. The tracker itself is a subscriber of the keyspace once a client has asked for it.
#[derive(Debug)]
pub(crate) struct Tracking<'a> {
    keyspace: &'a mut Keyspace,
    sessions: &'a Sessions,
    limit: TrackingLimit,
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Recipient {
    /// No client: tracking is off, or there are no pushes, nor a subscription of the target of the redirection.
    Nobody,
    Receiver(u64),
    /// The client itself, which learns that its redirection to this id is broken.
    Broken(u64),
}

/// Changed keys, and the clients that listen. Some of these clients ignore their own changes.
#[derive(Debug)]
pub(crate) struct InvalidationBroadcast {
    pub(crate) keys: ChangedKeys,
    /// The clients, in groups. `Some`: the keys that this client has changed last are left out.
    pub(crate) audiences: Vec<(Vec<u64>, Option<u64>)>,
}

pub(crate) fn tracked(keyspace: &Keyspace, client: u64) -> Option<&TrackedClient> {
    keyspace.subscriber::<Tracker>()?.client(client)
}

impl<'a> Tracking<'a> {
    /// Returns the capability. `limit` bounds the table, and `seed` decides which of its keys are forgotten.
    pub(crate) fn new(
        keyspace: &'a mut Keyspace,
        sessions: &'a Sessions,
        limit: TrackingLimit,
        seed: u64,
    ) -> Self {
        Tracking { keyspace, sessions, limit, seed }
    }

    pub(crate) fn session(&self, slot: Slot) -> &'a Session {
        self.sessions.get(slot)
    }

    fn tracker(&mut self) -> Option<&mut Tracker> {
        self.keyspace.subscriber_itself()
    }

    /// Whether there is a client of this number.
    pub(crate) fn has_client(&self, client: u64) -> bool {
        self.sessions.find(client).is_some()
    }

    pub(crate) fn active(&self, client: u64) -> Option<&TrackedClient> {
        tracked(self.keyspace, client).filter(|client| client.is_on)
    }

    /// Makes a client track keys. Fails for a request that contradicts itself, or an earlier one.
    pub(crate) fn track(&mut self, slot: Slot, request: TrackingRequest<'_>) -> Result<(), CommandError> {
        let id = self.sessions.get(slot).id;
        check(tracked(self.keyspace, id), &request)?;
        if self.tracker().is_none() {
            self.keyspace.subscribe(Box::new(Tracker::new(self.limit, self.seed)));
        }
        self.change(slot, |tracker| tracker.turn_on(id, request.mode, request.redirect, request.prefixes));
        Ok(())
    }

    pub(crate) fn untrack(&mut self, slot: Slot) {
        let id = self.sessions.get(slot).id;
        self.change(slot, |tracker| tracker.turn_off(id));
    }

    /// Forgets a client that is gone; returns whether it had tracked keys.
    pub(crate) fn leave(&mut self, slot: Slot) -> bool {
        let id = self.sessions.get(slot).id;
        let has_tracked = tracked(self.keyspace, id).is_some();
        if has_tracked {
            self.change(slot, |tracker| tracker.leave(id));
        }
        has_tracked
    }

    /// Changes the tracking state of a client, and updates the memory that is counted for it.
    fn change(&mut self, slot: Slot, change: impl FnOnce(&mut Tracker)) {
        let session = self.sessions.get(slot);
        let Some(tracker) = self.keyspace.subscriber_itself::<Tracker>() else { return };
        let memory = |tracker: &Tracker| tracker.client(session.id).map_or(0, TrackedClient::memory);
        let before = memory(tracker);
        change(tracker);
        session.delivery.buffers().change_state(before, memory(tracker));
        self.keyspace.renew_interests();
    }

    /// Records what CLIENT CACHING says about the next request of a client.
    pub(crate) fn set_caching(&mut self, slot: Slot, caching: Caching) {
        let id = self.sessions.get(slot).id;
        if let Some(tracker) = self.tracker() {
            tracker.set_caching(id, caching);
        }
    }

    /// Clears the setting of CLIENT CACHING after its request has ended. A transaction that is still queued keeps it,
    /// and other subcommands of CLIENT keep it too, as in Redis.
    pub(crate) fn end_caching(&mut self, slot: Slot, commands: &CommandTable, request: Args<'_>) {
        if !self.sessions.is_connected(slot) || self.sessions.get(slot).multi.is_some() {
            return;
        }
        let command = commands.resolve(request);
        if !command.is_some_and(|command| command.name.starts_with("client|")) {
            self.set_caching(slot, Caching::Unsaid);
        }
    }

    /// Applies the configured limit to the table. Keys beyond the limit are forgotten.
    pub(crate) fn apply_limit(&mut self) {
        let limit = self.limit;
        if let Some(tracker) = self.tracker() {
            tracker.set_limit(limit);
        }
        self.shrink();
    }

    /// Remembers the keys that a command has read, if its client tracks them. Returns whether the table is still over
    /// its limit. The reads of a script count for the keys that the script was called with.
    pub(crate) fn remember(
        &mut self,
        (session, called_by): (u64, CalledBy<'_>),
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        if !command.has(Flags::READONLY)
            || command.has(Flags::PUBSUB)
            || command.spec.categories.contains(&"scripting")
        {
            return false;
        }
        let Some(tracker) = self.tracker().filter(|tracker| tracker.remembers(session)) else { return false };
        match called_by {
            CalledBy::Script(inputs) => inputs.keys.iter().for_each(|key| tracker.remember(session, key)),
            _ => {
                let positions = command.key_positions(args);
                positions.into_iter().for_each(|at| tracker.remember(session, &args[at]));
            }
        }
        self.shrink()
    }

    /// Forgets keys while the table is over its limit, and notifies their readers. Returns whether there is more.
    pub(crate) fn shrink(&mut self) -> bool {
        let mut forgotten = Vec::new();
        let Some(tracker) = self.tracker() else { return false };
        for _ in 0..MAX_FORGOTTEN {
            if !tracker.is_full() {
                break;
            }
            forgotten.extend(tracker.forget_one());
        }
        let is_full = tracker.is_full();
        forgotten.into_iter().for_each(|effect| self.keyspace.push_effect(effect));
        is_full
    }

    pub(crate) fn forget_keys(&mut self) {
        let effect = self.tracker().and_then(Tracker::forget_all);
        effect.into_iter().for_each(|effect| self.keyspace.push_effect(effect));
    }

    /// Sets the client whose notifications are held, if any. Returns those that were held.
    pub(crate) fn hold(&mut self, news: Option<HeldNews>) -> Option<HeldNews> {
        self.tracker().and_then(|tracker| tracker.hold(news))
    }

    /// Returns the clients, out of these, that are notified now that a key has changed, or that all keys are gone
    /// (`None`). A client whose notifications are held is notified later.
    pub(crate) fn notified_now(&mut self, clients: &[u64], key: Option<&[u8]>) -> Vec<u64> {
        let later = self.tracker().and_then(|tracker| tracker.hold_key(clients, key));
        clients.iter().copied().filter(|id| Some(*id) != later).collect()
    }

    /// Returns the client that is notified for this client: itself, or the target of its redirection.
    pub(crate) fn recipient(&mut self, id: u64) -> Recipient {
        let Some(redirect) = tracked(self.keyspace, id).map(|client| client.redirect) else {
            return Recipient::Nobody;
        };
        let sessions = self.sessions;
        let session = |id| sessions.find(id).map(|slot| sessions.get(slot));
        let has_pushes = |session: &Session| session.protocol == Protocol::Resp3;
        if redirect == 0 {
            return if session(id).is_some_and(has_pushes) {
                Recipient::Receiver(id)
            } else {
                Recipient::Nobody
            };
        }
        match session(redirect).filter(|target| target.closing != Some(Closing::Now)) {
            Some(target) if has_pushes(target) || target.is_subscribed() => Recipient::Receiver(redirect),
            Some(_) => Recipient::Nobody,
            None => {
                if let Some(client) = self.tracker().and_then(|tracker| tracker.client_mut(id)) {
                    client.is_broken = true;
                }
                if session(id).is_some_and(has_pushes) {
                    Recipient::Broken(redirect)
                } else {
                    Recipient::Nobody
                }
            }
        }
    }

    /// Returns the changed keys of each prefix since the last call, with the clients that listen.
    pub(crate) fn take_broadcasts(&mut self) -> Vec<InvalidationBroadcast> {
        let changed = self.tracker().map(Tracker::take_changed).unwrap_or_default();
        let is_selective = |id: &u64| {
            let client = tracked(self.keyspace, *id);
            client.is_some_and(|client| client.mode.contains(TrackingMode::NOLOOP))
        };
        let broadcast = |(keys, listeners): (ChangedKeys, Vec<u64>)| {
            let (selective, others): (Vec<u64>, Vec<u64>) = listeners.into_iter().partition(is_selective);
            let all = (!others.is_empty()).then_some((others, None));
            let selective = selective.into_iter().map(|id| (vec![id], Some(id)));
            InvalidationBroadcast { keys, audiences: all.into_iter().chain(selective).collect() }
        };
        changed.into_iter().map(broadcast).collect()
    }

    /// Takes the tracker before the server is reset. Clients that stay connected go on tracking.
    pub(crate) fn take(&mut self) -> Option<Tracker> {
        self.tracker().map(Tracker::take)
    }

    /// Puts back a tracker that was taken. Its clients are notified that all keys are gone.
    pub(crate) fn put_back(&mut self, tracker: Option<Tracker>) {
        let Some(mut tracker) = tracker.filter(|tracker| !tracker.is_unused()) else { return };
        let effect = tracker.forget_all();
        self.keyspace.subscribe(Box::new(tracker));
        effect.into_iter().for_each(|effect| self.keyspace.push_effect(effect));
        self.apply_limit();
        self.keyspace.renew_interests();
    }
}
