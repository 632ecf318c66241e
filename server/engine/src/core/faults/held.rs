//! Requests and replies that a rule holds.

use crate::faults::{RuleId, Slices};
use std::collections::BTreeMap;

/// Something of a client that a rule holds.
#[derive(Debug)]
pub(crate) struct Held {
    /// The rule.
    pub(in crate::core) rule: RuleId,
    /// What it holds.
    pub(in crate::core) part: HeldPart,
}

/// What is held.
#[derive(Debug)]
pub(crate) enum HeldPart {
    /// The request, which has not been executed.
    Request,
    /// The reply, whole.
    Reply(Vec<u8>),
    /// The pieces of a reply that have not been sent.
    Slices(SlicedReply),
}

/// A reply that is sent in pieces.
#[derive(Debug)]
pub(crate) struct SlicedReply {
    /// The whole reply.
    pub(super) bytes: Vec<u8>,
    /// The number of bytes that have been sent.
    pub(super) sent: usize,
    pub(super) slices: Slices,
}

impl HeldPart {
    /// Bytes of memory that it takes, besides the request.
    pub(super) fn memory(&self) -> usize {
        match self {
            HeldPart::Request => 0,
            HeldPart::Reply(bytes) | HeldPart::Slices(SlicedReply { bytes, .. }) => {
                lockwheel_store::memory::of_vec(bytes)
            }
        }
    }
}

/// The clients of which something is held, by rule, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct HeldClients {
    by_rule: BTreeMap<RuleId, BTreeMap<u64, u64>>,
}

impl HeldClients {
    /// A rule holds something of this client.
    pub(super) fn add(&mut self, rule: RuleId, arrival: u64, client: u64) {
        self.by_rule.entry(rule).or_default().insert(arrival, client);
    }

    /// It no longer does.
    pub(super) fn remove(&mut self, rule: RuleId, arrival: u64) {
        if let Some(clients) = self.by_rule.get_mut(&rule) {
            clients.remove(&arrival);
            if clients.is_empty() {
                self.by_rule.remove(&rule);
            }
        }
    }

    /// Whether nothing is held.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_rule.is_empty()
    }

    /// How many a rule holds.
    pub(super) fn count(&self, rule: RuleId) -> usize {
        self.by_rule.get(&rule).map_or(0, BTreeMap::len)
    }

    /// Those of a rule, the longest held first.
    pub(super) fn of(&self, rule: RuleId) -> Vec<u64> {
        self.by_rule.get(&rule).map_or_else(Vec::new, |clients| clients.values().copied().collect())
    }

    /// All of them, by the age of their rules.
    pub(super) fn all(&self) -> Vec<u64> {
        self.by_rule.values().flat_map(BTreeMap::values).copied().collect()
    }
}
