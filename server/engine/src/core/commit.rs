//! What follows from a command once it has ended: broken transactions, notifications, messages, woken waiters.

use super::engine::Engine;
use crate::clients::{Closing, Message, Slot};
use crate::keyspace::{Effect, EventClasses};
use lockwheel_resp::Reply;

impl Engine {
    /// Delivers what commands have caused, if they have caused anything, until nothing is left to cause more.
    ///
    /// Nothing while a script runs: what other clients do to their sessions meanwhile must not let its effects out.
    #[inline]
    pub(crate) fn commit(&mut self) {
        if self.scripts.is_running() {
            return;
        }
        if self.keyspace.has_effects() || self.keyspace.waiters.has_unkeyed() {
            self.commit_effects();
        }
    }

    /// By itself, so that the question whether there is anything to do stands in line.
    #[inline(never)]
    fn commit_effects(&mut self) {
        while self.keyspace.has_effects() {
            self.deliver();
            self.serve_ready();
        }
        self.serve_state_watchers();
    }

    /// Delivers what a part of a script or a transaction has caused, so that the whole is not collected: a client that
    /// may not be sent so much is cut off on the way.
    #[inline]
    pub(crate) fn deliver_messages(&mut self) {
        if self.keyspace.has_messages() {
            self.deliver();
        }
    }

    /// Delivers effects, without waking who waits for keys.
    pub(crate) fn deliver(&mut self) {
        while let Some(id) = self.keyspace.watches.next_broken() {
            if let Some(slot) = self.sessions.find(id) {
                self.sessions.get_mut(slot).watch_broken = true;
            }
        }
        while let Some(effect) = self.keyspace.next_effect() {
            match effect {
                Effect::Publish { channel, message } => self.send_to_subscribers(&channel, &message),
                Effect::Notify { db, event, key } => {
                    let classes = self.keyspace.published();
                    if classes.contains(EventClasses::KEYSPACE) {
                        let channel = [format!("__keyspace@{db}__:").as_bytes(), &key].concat();
                        self.send_to_subscribers(&channel, event.name.as_bytes());
                    }
                    if classes.contains(EventClasses::KEYEVENT) {
                        let channel = format!("__keyevent@{db}__:{}", event.name);
                        self.send_to_subscribers(channel.as_bytes(), &key);
                    }
                }
            }
        }
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
        if session.closing == Some(Closing::Now) {
            return;
        }
        let protocol = session.protocol;
        session.incoming().reply(protocol, write);
        session.count_output();
        self.check_output_limit(slot);
        self.wake(slot);
    }

    /// Appends a message to the output of a session, and sees to it that it is written. A session that is being cut
    /// off gets none, so that what one command sends is bounded by what its receivers may leave unread.
    pub(crate) fn send_message(&mut self, slot: Slot, message: &mut Message<'_>) {
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            return;
        }
        let protocol = session.protocol;
        session.incoming().message(message, protocol);
        session.count_output();
        self.check_output_limit(slot);
        self.wake(slot);
    }

    /// Sees to it that the connection looks after the session.
    pub(crate) fn wake(&mut self, slot: Slot) {
        self.sessions.wake(slot);
    }

    /// Cuts off a client that does not read what it is sent: a subscriber, or one that is not authenticated.
    pub(crate) fn check_output_limit(&mut self, slot: Slot) {
        if !self.sessions.get_mut(slot).keeps_up() {
            self.check_much_output(slot);
        }
    }

    /// The same of a client that does not keep up, if it is not being closed already.
    #[inline(never)]
    pub(crate) fn check_much_output(&mut self, slot: Slot) {
        let now_ms = self.time.system.monotonic_ms();
        let session = self.sessions.get_mut(slot);
        session.count_output();
        if session.closing.is_some() {
            session.over_soft_since = None;
            return;
        }
        let pending = session.pending_output();
        let limit = self.config.output_limit(session.subscriptions() > 0);
        let over_hard = (limit.hard > 0 && pending >= limit.hard) || session.user.is_none();
        let over_soft = limit.soft > 0 && pending >= limit.soft;
        let since = if over_soft { Some(session.over_soft_since.unwrap_or(now_ms)) } else { None };
        session.over_soft_since = since;
        let over_soft_long = since.is_some_and(|since| now_ms - since > limit.soft_seconds * 1000);
        if over_hard || over_soft_long {
            session.drop_output();
            session.close(Closing::Now);
            self.stats.output_limit_disconnections += 1;
        } else if let Some(since) = since {
            self.watch_output(slot, since + limit.soft_seconds * 1000);
        }
    }
}
