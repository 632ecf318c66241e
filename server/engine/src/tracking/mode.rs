//! How a client wants to be told of changes.

use lockwheel_store::memory::{block, of_trees};
use std::collections::BTreeSet;

bitflags::bitflags! {
    /// What CLIENT TRACKING was asked for.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct TrackingMode: u8 {
        /// It is told of all keys with a prefix, whether it has read them or not.
        const BCAST = 1;
        /// The keys of a request are tracked only after CLIENT CACHING YES.
        const OPTIN = 1 << 1;
        /// The keys of a request are not tracked after CLIENT CACHING NO.
        const OPTOUT = 1 << 2;
        /// It is not told of its own changes.
        const NOLOOP = 1 << 3;
    }
}

/// What CLIENT CACHING has said about the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Caching {
    /// Nothing.
    #[default]
    Unsaid,
    /// The opposite of what its mode does by itself: YES of OPTIN, NO of OPTOUT.
    Said,
}

/// A client that tracks keys, or has tracked some since it connected.
#[derive(Debug, Default)]
pub(crate) struct TrackedClient {
    /// Whether it does now.
    pub(crate) is_on: bool,
    /// How.
    pub(crate) mode: TrackingMode,
    /// What it has said about its next request.
    pub(crate) caching: Caching,
    /// The client that is told instead; 0: none.
    pub(crate) redirect: u64,
    /// That client was gone when there was something to tell.
    pub(crate) is_broken: bool,
    /// The prefixes of BCAST.
    pub(crate) prefixes: BTreeSet<Box<[u8]>>,
    /// Bytes of their texts.
    pub(super) prefix_bytes: usize,
}

impl TrackedClient {
    /// It wants to be told of all keys with this prefix too. O(log n).
    pub(super) fn add_prefix(&mut self, prefix: &[u8]) {
        if self.prefixes.insert(prefix.into()) {
            self.prefix_bytes += block(prefix.len());
        }
    }

    /// Bytes of memory of its prefixes, about. O(1).
    pub(crate) fn memory(&self) -> usize {
        let trees = usize::from(!self.prefixes.is_empty());
        self.prefix_bytes + of_trees(trees, self.prefixes.len(), size_of::<Box<[u8]>>())
    }

    /// Whether the keys that its present request reads are to be remembered.
    pub(super) fn remembers(&self) -> bool {
        let is_said = self.caching == Caching::Said;
        let wants = if self.mode.contains(TrackingMode::OPTIN) {
            is_said
        } else {
            !(is_said && self.mode.contains(TrackingMode::OPTOUT))
        };
        self.is_on && !self.mode.contains(TrackingMode::BCAST) && wants
    }

    /// Whether a change by this client is none of its business.
    pub(super) fn ignores(&self, own: bool) -> bool {
        own && self.mode.contains(TrackingMode::NOLOOP)
    }
}
