//! The connections of a loop, by key, and which of them are running.

use super::connection::Connection;
use slab::Slab;

/// A connection, or the mark of a connection that is taken out.
enum Entry {
    Idle(Box<Connection>),
    Running {
        /// Whether the socket has become ready meanwhile.
        is_ready: bool,
    },
}

/// The connections of a loop. A running connection is taken out, so that the loop may use the table meanwhile.
#[derive(Default)]
pub(super) struct Connections(Slab<Entry>);

impl Connections {
    /// Reserves a key for a connection that is put back later.
    pub(super) fn reserve(&mut self) -> usize {
        self.0.insert(Entry::Running { is_ready: false })
    }

    /// Takes a connection out. If it is out, [`Connections::put_back`] will report that its socket became ready.
    pub(super) fn take(&mut self, key: usize) -> Option<Box<Connection>> {
        let entry = self.0.get_mut(key)?;
        match std::mem::replace(entry, Entry::Running { is_ready: false }) {
            Entry::Idle(connection) => Some(connection),
            Entry::Running { .. } => {
                *entry = Entry::Running { is_ready: true };
                None
            }
        }
    }

    /// Puts a connection back. Returns whether its socket has become ready meanwhile.
    pub(super) fn put_back(&mut self, key: usize, mut connection: Box<Connection>) -> bool {
        let entry = &mut self.0[key];
        let is_ready = matches!(entry, Entry::Running { is_ready: true });
        connection.ends |= is_ready;
        *entry = Entry::Idle(connection);
        is_ready
    }

    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut Connection> {
        match self.0.get_mut(key)? {
            Entry::Idle(connection) => Some(connection),
            Entry::Running { .. } => None,
        }
    }

    pub(super) fn remove(&mut self, key: usize) {
        self.0.remove(key);
    }
}
