//! The connections of a loop, by key, and which of them run.

use super::connection::Connection;
use slab::Slab;

/// A connection, or the mark that it is taken out.
enum Entry {
    Idle(Box<Connection>),
    Running {
        /// Its socket has become ready meanwhile.
        is_ready: bool,
    },
}

/// The connections of a loop. A running one is taken out: the loop may use the table meanwhile.
#[derive(Default)]
pub(super) struct Connections(Slab<Entry>);

impl Connections {
    /// A key for a connection that is put back later.
    pub(super) fn reserve(&mut self) -> usize {
        self.0.insert(Entry::Running { is_ready: false })
    }

    /// Takes a connection out. If it is out already, [`Connections::put_back`] will report that it was wanted.
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

    /// Puts a connection back. Whether its socket has become ready meanwhile.
    pub(super) fn put_back(&mut self, key: usize, mut connection: Box<Connection>) -> bool {
        let entry = &mut self.0[key];
        let is_ready = matches!(entry, Entry::Running { is_ready: true });
        connection.ends |= is_ready;
        *entry = Entry::Idle(connection);
        is_ready
    }

    /// A connection that does not run.
    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut Connection> {
        match self.0.get_mut(key)? {
            Entry::Idle(connection) => Some(connection),
            Entry::Running { .. } => None,
        }
    }

    /// Frees a key.
    pub(super) fn remove(&mut self, key: usize) {
        self.0.remove(key);
    }
}
