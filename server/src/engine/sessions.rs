//! All sessions, by slot and by id.

use super::session::{Closing, Session};
use std::collections::BTreeMap;

/// Where a session is kept: its handle from connect to disconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(u32);

/// The sessions of an engine.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    slots: Vec<Option<Box<Session>>>,
    free: Vec<Slot>,
    by_id: BTreeMap<u64, Slot>,
    last_id: u64,
}

impl Sessions {
    pub(super) fn add(&mut self, make: impl FnOnce(u64, Slot) -> Session) -> Slot {
        self.last_id += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            Slot(self.slots.len() as u32 - 1)
        });
        self.slots[slot.0 as usize] = Some(Box::new(make(self.last_id, slot)));
        self.by_id.insert(self.last_id, slot);
        slot
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        if let Some(session) = self.slots[slot.0 as usize].take() {
            self.by_id.remove(&session.id);
            self.free.push(slot);
        }
    }

    /// # Panics
    /// When the slot is free: a slot is only used between connect and disconnect.
    pub(crate) fn get(&self, slot: Slot) -> &Session {
        self.slots[slot.0 as usize].as_deref().expect("a slot is used between connect and disconnect only")
    }

    /// # Panics
    /// As [`Sessions::get`].
    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut Session {
        self.slots[slot.0 as usize]
            .as_deref_mut()
            .expect("a slot is used between connect and disconnect only")
    }

    /// The slot of a client's id. O(log n).
    pub(crate) fn find(&self, id: u64) -> Option<Slot> {
        self.by_id.get(&id).copied()
    }

    /// All slots, oldest client first.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.by_id.values().copied()
    }

    /// All clients but those that are being cut off, oldest first.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Session> {
        self.slots().map(|slot| self.get(slot)).filter(|session| session.closing != Some(Closing::Now))
    }
}
