//! What follows from a command once it has ended: broken transactions, notifications, messages, woken waiters.

use super::Engine;
use super::session::Closing;
use super::sessions::Slot;
use crate::keyspace::{Effect, EventClasses};
use lockwheel_resp::{Reply, Writer};

/// The most bytes of replies that a client may leave unread before it has authenticated.
const UNAUTHENTICATED_MAX: usize = 1024;

impl Engine {
    /// Delivers what commands have caused, if they have caused anything, until nothing is left to cause more.
    #[inline]
    ///
    /// Nothing while a script runs: what other clients do to their sessions meanwhile must not let its effects out.
    pub(crate) fn commit(&mut self) {
        if self.scripts.is_none() {
            return;
        }
        if self.keyspace.has_effects() || !self.watching_state.is_empty() {
            self.commit_effects();
        }
    }

    fn commit_effects(&mut self) {
        while self.keyspace.has_effects() {
            self.deliver();
            self.serve_ready();
        }
        self.serve_state_watchers();
    }

    /// Delivers effects, without waking who waits for keys.
    pub(crate) fn deliver(&mut self) {
        for id in self.keyspace.watches.take_broken() {
            if let Some(slot) = self.sessions.find(id) {
                self.sessions.get_mut(slot).watch_broken = true;
            }
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.keyspace.take_effects(&mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Publish { channel, message } => self.send_to_subscribers(&channel, &message),
                Effect::Notify { db, event, key } => {
                    let classes = self.keyspace.notify;
                    if classes.0 & EventClasses::KEYSPACE != 0 {
                        let channel = [format!("__keyspace@{db}__:").as_bytes(), &key].concat();
                        self.send_to_subscribers(&channel, event.name.as_bytes());
                    }
                    if classes.0 & EventClasses::KEYEVENT != 0 {
                        let channel = format!("__keyevent@{db}__:{}", event.name);
                        self.send_to_subscribers(channel.as_bytes(), &key);
                    }
                }
            }
        }
        self.effects = effects;
    }

    /// Answers the request that a session has been waiting with, unless it wants no reply.
    pub(crate) fn answer(&mut self, slot: Slot, write: impl FnOnce(&mut dyn Reply)) {
        let session = self.sessions.get_mut(slot);
        let muted = session.replies.are_muted();
        session.replies.next_request();
        if muted { self.wake(slot) } else { self.send(slot, write) }
    }

    /// Appends to the output of a session, after its own earlier replies, and sees to it that it is written.
    pub(crate) fn send(&mut self, slot: Slot, write: impl FnOnce(&mut dyn Reply)) {
        let session = self.sessions.get_mut(slot);
        let protocol = session.protocol;
        write(&mut Writer::new(&mut session.out, protocol));
        self.check_output_limit(slot);
        self.wake(slot);
    }

    /// Sees to it that the connection looks after the session.
    pub(crate) fn wake(&mut self, slot: Slot) {
        let session = self.sessions.get_mut(slot);
        if !session.woken {
            session.woken = true;
            self.woken.push(session.id);
        }
    }

    /// Cuts off a client that does not read what it is sent: a subscriber, or one that is not authenticated.
    #[inline]
    pub(super) fn check_output_limit(&mut self, slot: Slot) {
        let session = self.sessions.get_mut(slot);
        let pending = session.pending_output();
        if pending <= UNAUTHENTICATED_MAX || session.closing.is_some() {
            session.over_soft_since = None;
        } else {
            self.check_much_output(slot, pending);
        }
    }

    fn check_much_output(&mut self, slot: Slot, pending: usize) {
        let now_ms = self.system.monotonic_ms();
        let session = self.sessions.get_mut(slot);
        let limit = self.config.output_limit(session.subscriptions() > 0);
        let over_hard = (limit.hard > 0 && pending >= limit.hard) || !session.authenticated;
        let over_soft = limit.soft > 0 && pending >= limit.soft;
        let since = if over_soft { Some(session.over_soft_since.unwrap_or(now_ms)) } else { None };
        session.over_soft_since = since;
        let over_soft_long = since.is_some_and(|since| now_ms - since > limit.soft_seconds * 1000);
        if over_hard || over_soft_long {
            session.out = Vec::new();
            session.close(Closing::Now);
            self.stats.output_limit_disconnections += 1;
        }
    }
}
