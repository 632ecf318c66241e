//! What follows from a command once it has ended: broken transactions, notifications, messages, woken waiters.

use super::engine::Engine;
use crate::keyspace::{Effect, EventClasses};

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
}
