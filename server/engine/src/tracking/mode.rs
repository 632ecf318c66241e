//! The modes of client-side caching, and the clients that track keys.

use lockwheel_store::memory::{block, tree_heap_bytes};
use std::collections::BTreeSet;

bitflags::bitflags! {
    /// The options of CLIENT TRACKING.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct TrackingMode: u8 {
        /// The client is notified of all keys with its prefixes, whether it has read them or not.
        const BCAST = 1;
        /// The keys of a request are tracked only after CLIENT CACHING YES.
        const OPTIN = 1 << 1;
        /// The keys of a request are not tracked after CLIENT CACHING NO.
        const OPTOUT = 1 << 2;
        /// The client is not notified of its own changes.
        const NOLOOP = 1 << 3;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Caching {
    /// No setting.
    #[default]
    Unsaid,
    /// The opposite of the mode's default: YES with OPTIN, NO with OPTOUT.
    Said,
}

/// A client that tracks keys, or has tracked some since it connected.
#[derive(Debug, Default)]
pub(crate) struct TrackedClient {
    /// Whether the client tracks keys now.
    pub(crate) is_on: bool,
    pub(crate) mode: TrackingMode,
    pub(crate) caching: Caching,
    /// The client that is notified instead. 0: none.
    pub(crate) redirect: u64,
    /// Whether that client was gone when it was to be notified.
    pub(crate) is_broken: bool,
    pub(crate) prefixes: BTreeSet<Box<[u8]>>,
    pub(super) prefix_bytes: usize,
}

impl TrackedClient {
    /// Adds a prefix of keys whose changes the client is notified of. O(log n).
    pub(super) fn add_prefix(&mut self, prefix: &[u8]) {
        if self.prefixes.insert(prefix.into()) {
            self.prefix_bytes += block(prefix.len());
        }
    }

    /// Approximate bytes of memory of the prefixes. O(1).
    pub(crate) fn memory(&self) -> usize {
        let trees = usize::from(!self.prefixes.is_empty());
        self.prefix_bytes + tree_heap_bytes(trees, self.prefixes.len(), size_of::<Box<[u8]>>())
    }

    /// Whether the keys that the client's present request reads are remembered.
    pub(super) fn remembers(&self) -> bool {
        let is_said = self.caching == Caching::Said;
        let wants = if self.mode.contains(TrackingMode::OPTIN) {
            is_said
        } else {
            !(is_said && self.mode.contains(TrackingMode::OPTOUT))
        };
        self.is_on && !self.mode.contains(TrackingMode::BCAST) && wants
    }

    /// Whether the client ignores a change. `own`: the client itself has made the change.
    pub(super) fn ignores(&self, own: bool) -> bool {
        own && self.mode.contains(TrackingMode::NOLOOP)
    }
}
