//! The effects of commands: broken transactions, notifications, messages, and served waiters.

use super::engine::Engine;
use super::hooks::Hook;
use crate::locks;
use crate::pubsub::Audience;
use lockwheel_resp::allocation;
use lockwheel_store::keyspace::{Effect, EventClasses};

impl Engine {
    /// Delivers the effects of commands until no more arise. Does nothing while a script runs: other clients' session
    /// commands must not release its effects early.
    #[inline]
    pub(crate) fn commit(&mut self) {
        if self.scripts.is_running() {
            return;
        }
        if has_uncommitted(self) {
            self.commit_effects();
        } else if self.keyspace.is_propagation_due() {
            self.replicate();
            if has_uncommitted(self) {
                self.commit_effects();
            }
        }
    }

    /// Repeats until no waiter for a state is served, so each was checked after the last change. Each round but the
    /// last ends a wait and begins none that it could serve. Not inlined, so that the emptiness check is.
    #[inline(never)]
    fn commit_effects(&mut self) {
        loop {
            while self.keyspace.has_effects() || self.sessions.has_leaving() {
                for client in self.sessions.take_leaving() {
                    locks::sessions::give_back(&mut self.keyspace, client, self.clock.now());
                }
                self.deliver();
                // As in Redis, a served command is no part of the transaction that has served it.
                self.replicate();
                self.serve_ready();
            }
            self.replicate();
            if !self.serve_state_watchers() {
                return;
            }
        }
    }

    /// Delivers effects in the midst of a script or transaction, so that they do not pile up. May disconnect a client.
    #[inline]
    pub(crate) fn deliver_messages(&mut self) {
        if self.keyspace.has_messages() {
            self.deliver();
        }
    }

    /// Delivers effects, except to waiters on keys.
    pub(crate) fn deliver(&mut self) {
        while let Some(id) = self.keyspace.watches.next_broken() {
            if let Some(slot) = self.sessions.find(id) {
                self.sessions.get_mut(slot).watch_broken = true;
            }
        }
        while let Some(effect) = self.keyspace.next_effect() {
            match effect {
                Effect::Announce { channel, message } => {
                    self.send_to_receivers(Audience::OfServer, &channel, &message)
                }
                Effect::Invalidate { sessions, key } => self.invalidate(&sessions, key.as_deref()),
                Effect::BroadcastDue => self.hooks.set(Hook::Broadcast, true),
                Effect::Push { session, kind, fields } => {
                    if let Some(slot) = self.sessions.find(session) {
                        self.change_output(slot, |output, slot| output.push_event(slot, kind, &fields));
                    }
                }
                Effect::HoldChanged { db, key, label } => {
                    self.keyspace.waiters.hold_changed(db, &key, label);
                }
                Effect::LeasesChanged { session } => self.client_timers().leases_changed(session),
                Effect::FollowUp { db, key, field } => {
                    locks::follow_up(&mut self.keyspace.tx(db, self.clock.now()), &key, &field);
                }
                Effect::Publish { channel, message } => self.publish(&channel, &message),
                Effect::Notify { db, event, key } => {
                    let classes = self.keyspace.published();
                    if classes.contains(EventClasses::KEYSPACE) {
                        let mut channel = format!("__keyspace@{db}__:").into_bytes();
                        allocation::append(&mut channel, &key);
                        self.send_to_receivers(Audience::Everyone, &channel, event.name.as_bytes());
                    }
                    if classes.contains(EventClasses::KEYEVENT) {
                        let channel = format!("__keyevent@{db}__:{}", event.name);
                        self.send_to_receivers(Audience::Everyone, channel.as_bytes(), &key);
                    }
                }
            }
        }
    }
}

/// Whether there is more to do than to propagate changes.
#[inline]
fn has_uncommitted(engine: &Engine) -> bool {
    engine.keyspace.has_effects() || engine.keyspace.waiters.has_unkeyed() || engine.sessions.has_leaving()
}
