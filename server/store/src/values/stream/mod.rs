//! The stream value: a log of entries, and the groups that read it.

mod consumers;
mod entry;
mod group;
mod id;
mod log;
mod node;
mod nodes;
mod radix;
mod range;
mod restore;
mod text;
mod trim;

pub use consumers::{Consumer, ConsumerId};
pub use entry::{Entry, Pairs};
pub use group::{EditGroup, Group, Groups, Pending};
pub use id::{IdText, StreamId};
pub use log::{Log, NodeLimits, TooLarge};
pub use range::{Backward, Forward};
pub use restore::NodeView;
pub use trim::{Keep, Trim, TrimmedNodes};

/// A log of entries, and the groups of consumers that read it. An empty stream may stay.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// The entries.
    pub log: Log,
    /// The groups.
    pub groups: Groups,
    /// Trimmed nodes that are only to be freed.
    trimmed: TrimmedNodes,
}

impl Stream {
    /// An empty stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of entries. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// The log, and a group of this name to be changed.
    pub fn split(&mut self, group: &[u8]) -> (&Log, Option<EditGroup<'_>>) {
        (&self.log, self.groups.edit(group))
    }

    /// Bytes of heap of the stream, without the struct itself. O(1).
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.log.heap_bytes() + self.groups.heap_bytes()
    }

    /// A lower bound of the number of memory blocks of the stream. O(groups).
    #[must_use]
    pub fn parts(&self) -> usize {
        1 + self.log.node_count() + self.groups.parts() + self.trimmed.len()
    }
}

/// Wraps nodes that are to be freed in a value.
impl From<TrimmedNodes> for Stream {
    fn from(trimmed: TrimmedNodes) -> Self {
        Self { trimmed, ..Self::default() }
    }
}

/// Wraps a group that is to be freed in a value.
impl From<Group> for Stream {
    fn from(group: Group) -> Self {
        let mut stream = Self::default();
        stream.groups.add(b"", group);
        stream
    }
}

#[cfg(test)]
mod tests;
