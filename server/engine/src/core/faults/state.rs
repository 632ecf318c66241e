//! What the engine keeps of faults.

use super::causes::Cause;
use super::held::{Held, HeldClients};
use crate::clients::Request;
use crate::clock::TimerKey;
use crate::faults::{Client, Link, Partition, Rules};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Rules, and what they and the test hold, cut and keep.
#[derive(Debug)]
pub(crate) struct Faults {
    /// The rules.
    pub(crate) rules: Rules,
    /// A rule may still act on messages.
    pub(crate) sees_messages: bool,
    /// A connection is not carried as it is.
    pub(in crate::core) has_links: bool,
    /// The requests that run, from the one a client has sent inwards, while rules see messages.
    pub(super) causes: Vec<Cause>,
    /// Whose requests or replies are held.
    pub(super) held: HeldClients,
    /// The clients whose requests rules do not see.
    pub(super) exempt: BTreeSet<u64>,
    /// The clients that are frozen, with the timer that ends it.
    pub(super) frozen: BTreeMap<u64, Option<TimerKey>>,
    /// The clients whose connections are black holes, with the timer that cuts them.
    pub(super) lost: BTreeMap<u64, Option<TimerKey>>,
    /// Clients that have closed their connections while a request of theirs was on its way: it still arrives, and then
    /// those that they had sent behind it.
    pub(super) orphans: BTreeMap<u64, VecDeque<Request>>,
    /// From whom the server is cut off.
    pub(super) partitions: Vec<Partition>,
    /// The partitions that have ended before `FAULT.HEAL` was run: it counts them.
    pub(super) healed_ahead: usize,
    /// The server is killed as soon as its script has ended: replicas are told of nothing any more.
    pub(in crate::core) is_dying: bool,
    /// Until when nobody is let in, on the monotonic clock in milliseconds.
    pub(super) down_until_ms: Option<i64>,
    /// Ends that, for a server by itself; several are looked after by who drives them.
    pub(super) down_timer: Option<TimerKey>,
    /// The data that the server has when it is up again are of the history that it knows.
    pub(super) has_kept_history: bool,
    /// Clients are refused by the system.
    pub(super) are_doors_closed: bool,
    /// The client that has killed its own server: it is closed when it has been answered.
    pub(in crate::core) killed_its_own: Option<u64>,
}

impl Faults {
    /// None; draws will come from this seed.
    pub(in crate::core) fn new(seed: u64) -> Self {
        Faults {
            rules: Rules::new(seed),
            sees_messages: false,
            has_links: false,
            causes: Vec::new(),
            held: HeldClients::default(),
            exempt: BTreeSet::new(),
            frozen: BTreeMap::new(),
            lost: BTreeMap::new(),
            orphans: BTreeMap::new(),
            partitions: Vec::new(),
            healed_ahead: 0,
            is_dying: false,
            down_until_ms: None,
            down_timer: None,
            has_kept_history: false,
            are_doors_closed: false,
            killed_its_own: None,
        }
    }

    /// Forgets the causes of messages: a request has ended in a panic.
    pub(in crate::core) fn forget_causes(&mut self) {
        self.causes.clear();
    }

    /// Forgets a request or reply that a rule held: it is no longer parked.
    pub(in crate::core) fn forget_held(&mut self, held: &Held, arrival: u64) {
        self.held.remove(held.rule, arrival);
    }

    /// Whether rules hold requests or replies.
    #[inline]
    pub(in crate::core) fn holds_something(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a client has said FAULT.EXEMPT.
    pub(crate) fn is_exempt(&self, client: u64) -> bool {
        self.exempt.contains(&client)
    }

    /// Connections are held, lost, or let go.
    pub(super) fn note_links(&mut self) {
        self.has_links = !(self.frozen.is_empty() && self.lost.is_empty() && self.partitions.is_empty());
    }

    /// What becomes of the bytes of a client's connection.
    pub(super) fn link_of(&self, client: Client<'_>) -> Link {
        let is_lost = self.lost.contains_key(&client.id);
        let is_frozen = self.frozen.contains_key(&client.id);
        let mut link = if is_frozen { Link::FROZEN } else { Link::default() };
        link.is_lost = is_lost;
        if self.exempt.contains(&client.id) {
            return link;
        }
        self.partitions.iter().map(|partition| partition.link_of(client)).fold(link, Link::and)
    }

    /// Bytes of memory that they take, besides what is counted with clients. O(partitions).
    pub(in crate::core) fn memory(&self) -> usize {
        self.rules.memory() + self.partition_bytes()
    }

    /// Bytes of memory that the partitions take. O(partitions).
    pub(super) fn partition_bytes(&self) -> usize {
        self.partitions.iter().map(Partition::memory).sum()
    }
}
