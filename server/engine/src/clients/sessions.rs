//! All sessions, by slot and by id.

use super::buffers::ClientBuffers;
use super::session::{Closing, Session};
use super::slot::Slot;
use crate::acl::Login;
use lockwheel_store::memory::{tree_heap_bytes, vec_heap_bytes};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The sessions of an engine.
#[derive(Debug, Default)]
pub struct Sessions {
    slots: Vec<Option<Box<Session>>>,
    free: Vec<u32>,
    by_id: BTreeMap<u64, Slot>,
    last_id: u64,
    generation: u32,
    /// The number of times that a client has connected, disconnected or changed its name.
    changes: u64,
    name_bytes: usize,
    /// The clients to be woken: they have output that their own requests did not cause, or their state has changed.
    woken: VecDeque<u64>,
    /// The number of wakes since the start.
    wakes: u64,
    /// Disconnected clients whose leases have not been given back.
    leaving: Vec<u64>,
}

impl Sessions {
    /// A number that is greater than the numbers of all sessions so far.
    pub fn next_id(&self) -> u64 {
        self.last_id + 1
    }

    pub(crate) fn add(&mut self, id: u64, make: impl FnOnce(Slot) -> Session) -> Slot {
        self.last_id = self.last_id.max(id);
        self.changes += 1;
        self.generation = self.generation.wrapping_add(1);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        let slot = Slot { index, generation: self.generation };
        self.slots[index as usize] = Some(Box::new(make(slot)));
        self.by_id.insert(id, slot);
        slot
    }

    /// The number of times that a client has connected, disconnected or changed its name.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    pub(crate) fn rename(&mut self, slot: Slot, name: &[u8]) {
        self.changes += 1;
        let before = std::mem::replace(&mut self.get_mut(slot).name, name.into());
        self.name_bytes = self.name_bytes + name.len() - before.len();
    }

    /// Bytes of the names of all clients. O(1).
    pub(crate) fn name_bytes(&self) -> usize {
        self.name_bytes
    }

    /// Marks a client's connection as gone; with `false`, not while requests that it had sent before run.
    pub(crate) fn set_gone(&mut self, slot: Slot, is_gone: bool) {
        self.changes += 1;
        self.get_mut(slot).closing = is_gone.then_some(Closing::Now);
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        if !self.is_connected(slot) {
            return;
        }
        if let Some(session) = self.slots[slot.index as usize].take() {
            self.changes += 1;
            self.name_bytes -= session.name.len();
            self.by_id.remove(&session.id);
            self.free.push(slot.index);
        }
    }

    /// Whether the client of this slot is connected. Stays false when the place is used again, as deferred work needs.
    pub fn is_connected(&self, slot: Slot) -> bool {
        let session = self.slots.get(slot.index as usize).and_then(Option::as_deref);
        session.is_some_and(|session| session.slot == slot)
    }

    /// The session in a slot.
    ///
    /// # Panics
    /// Panics if the slot is free: a slot is only used between connect and disconnect.
    pub fn get(&self, slot: Slot) -> &Session {
        let session = self.slots[slot.index as usize].as_deref();
        let session = session.expect("a slot is used between connect and disconnect only");
        debug_assert_eq!(session.slot, slot, "a slot is used between connect and disconnect only");
        session
    }

    /// # Panics
    /// Panics like [`Sessions::get`].
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut Session {
        let session = self.slots[slot.index as usize].as_deref_mut();
        let session = session.expect("a slot is used between connect and disconnect only");
        debug_assert_eq!(session.slot, slot, "a slot is used between connect and disconnect only");
        session
    }

    /// The counters that a client's connection updates.
    ///
    /// # Panics
    /// Panics like [`Sessions::get`].
    pub fn buffers(&self, slot: Slot) -> Arc<ClientBuffers> {
        self.get(slot).delivery.buffers().clone()
    }

    /// Marks the requests of a session as the server's own.
    ///
    /// # Panics
    /// Panics like [`Sessions::get`].
    pub fn trust(&mut self, slot: Slot) {
        self.get_mut(slot).login = Login::Server;
    }

    /// Records that the connection of a client knows of its output, and will fetch it.
    ///
    /// # Panics
    /// Panics like [`Sessions::get`].
    pub fn acknowledge_wake(&mut self, slot: Slot) {
        self.get_mut(slot).woken = false;
    }

    /// Records that a client's request was refused outside the engine. Its open transaction, if any, must fail at EXEC.
    ///
    /// # Panics
    /// Panics like [`Sessions::get`].
    pub fn refuse_transaction(&mut self, slot: Slot) {
        if let Some(multi) = &mut self.get_mut(slot).multi {
            multi.aborted = true;
        }
    }

    /// Queues a session to be woken: it has output that its own request did not cause, or its state has changed.
    pub(crate) fn wake(&mut self, slot: Slot) {
        self.wakes += 1;
        let session = self.get_mut(slot);
        if !session.woken {
            session.woken = true;
            let id = session.id;
            self.woken.push_back(id);
        }
    }

    /// The number of wakes since the start. Wakes of a session that was already queued count too.
    pub(crate) fn wakes(&self) -> u64 {
        self.wakes
    }

    /// Takes the next woken session out of the queue. Returns its id.
    #[inline]
    pub(crate) fn next_woken(&mut self) -> Option<u64> {
        self.woken.pop_front()
    }

    /// Records that a client has disconnected and its leases must be given back.
    pub(crate) fn leave(&mut self, id: u64) {
        self.leaving.push(id);
    }

    /// Whether there are disconnected clients whose leases have not been given back.
    #[inline]
    pub(crate) fn has_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Takes the disconnected clients whose leases have not been given back, in the order of their disconnection.
    pub(crate) fn take_leaving(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.leaving)
    }

    /// Bytes of memory of the sessions, without those of [`ClientBuffers`](super::ClientBuffers). O(1).
    pub(crate) fn memory(&self) -> usize {
        self.by_id.len() * Session::OWN_MEMORY
    }

    /// Bytes of memory of the tables that find sessions. O(1).
    pub(crate) fn overhead(&self) -> usize {
        let trees = usize::from(!self.by_id.is_empty());
        vec_heap_bytes(&self.slots) + tree_heap_bytes(trees, self.by_id.len(), size_of::<(u64, Slot)>())
    }

    /// The slot of a client's id. O(log n).
    pub(crate) fn find(&self, id: u64) -> Option<Slot> {
        self.by_id.get(&id).copied()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.by_id.values().copied()
    }

    /// All clients except those that are being disconnected, oldest first.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Session> {
        self.slots().map(|slot| self.get(slot)).filter(|session| session.closing != Some(Closing::Now))
    }
}
