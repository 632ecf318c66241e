//! Clients inside this process: sessions without a socket, and the threads that wait for their replies.

use dashmap::DashMap;
use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Outbox, Slot};
use lockwheel_engine::core::Progress;
use parking_lot::Mutex;
use std::thread::Thread;

/// Sessions for requests of this process, reused, so that later requests come from the same client.
#[derive(Debug, Default)]
pub(super) struct Callers {
    pub(super) idle: Mutex<Vec<Caller>>,
    /// The threads that wait for a reply, by session id.
    pub(super) waiting: DashMap<u64, Thread>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub(super) id: u64,
    pub(super) slot: Slot,
}

impl Callers {
    /// Wakes the thread of a session that has output or whose state has changed.
    pub(super) fn wake(&self, id: u64) {
        if let Some(thread) = self.waiting.get(&id) {
            thread.unpark();
        }
    }

    /// Whether a thread of this process waits for the reply of this session.
    pub(super) fn is_waiting(&self, id: u64) -> bool {
        self.waiting.contains_key(&id)
    }

    pub(super) fn wake_all(&self) {
        self.waiting.iter().for_each(|thread| thread.unpark());
    }
}

impl Caller {
    /// Whether the server would close the connection of this session.
    pub(super) fn is_cut(self, engine: &Engine) -> bool {
        engine.sessions().get(self.slot).closing().is_some()
    }

    /// Takes the available part of the reply. Returns whether more is to come.
    pub(super) fn look(self, engine: &mut Engine, reply: &mut Outbox) -> Progress {
        engine.take_output(self.slot, reply);
        if engine.sessions().get(self.slot).is_blocked() { Progress::Blocked } else { Progress::Continue }
    }
}
