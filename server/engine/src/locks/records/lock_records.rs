//! The records of locks: the ledger, its subscribers, and further sources of the history.

use super::super::history::{History, Sections};
use super::super::ledger::{LockLedger, Noted, RecentReleases};
use super::fair_queues::FairQueues;
use super::limits::VerifyLimits;
use super::plain_sets::PlainSets;
use super::semaphores::Semaphores;
use super::subscribers::LedgerSubscribers;
use super::unleased::Unleased;
use lockwheel_store::keyspace::{Change, Context, EntryId, Mark, Removal};
use lockwheel_store::time::Now;

#[derive(Debug)]
pub(crate) struct LockRecords {
    /// The facts about holds.
    pub(in crate::locks) ledger: LockLedger,
    pub(super) subscribers: LedgerSubscribers,
    /// Whether changes of leases and counts matter: to the history, or to owners that are warned of a short rest.
    pub(super) sees_leases: bool,
    /// Whether an owner has just been written into a hash, and its grant recorded. The event of that write follows.
    pub(super) is_granted: bool,
    /// The entry of the lock that was taken last.
    pub(super) last_taken: EntryId,
    /// Texts without a lease that were recently set because they were absent; kept while the history is on.
    pub(super) unleased: RecentReleases<Unleased>,
    /// Texts that were recently set without a condition, and texts that were compared; kept while the history is on.
    pub(super) plain_sets: PlainSets,
    /// The queues of fair locks; kept while the history is on.
    pub(super) fair_queues: FairQueues,
    pub(super) semaphores: Semaphores,
    pub(in crate::locks) sections: Sections,
    /// The number of histories that have been started.
    pub(in crate::locks) histories: u64,
    /// The last entry of the history that LOCK.STATS does not count.
    pub(in crate::locks) counted_up_to: u64,
    pub(in crate::locks) limits: VerifyLimits,
    pub(super) seed: u64,
}

impl LockRecords {
    /// Creates empty records. The seed decides the hash of keys.
    pub(in crate::locks) fn new(seed: u64) -> Self {
        LockRecords {
            ledger: LockLedger::new(seed),
            subscribers: LedgerSubscribers::default(),
            sees_leases: false,
            is_granted: false,
            last_taken: EntryId::default(),
            unleased: RecentReleases::new(seed),
            plain_sets: PlainSets::new(seed),
            fair_queues: FairQueues::default(),
            semaphores: Semaphores::default(),
            sections: Sections::default(),
            histories: 0,
            counted_up_to: 0,
            limits: VerifyLimits::default(),
            seed,
        }
    }

    /// Begins a hold of a key that names the owner already. Returns the number of the grant. O(log n), n the owners.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        place: (usize, &[u8], EntryId),
        mark: Option<Mark>,
        (owner, native): (&[u8], bool),
        now: Now,
        context: &mut Context<'_>,
    ) -> u64 {
        self.ledger.begin(place, mark, (owner, native), now, context, &mut self.subscribers)
    }

    /// Ends all holds of a key that no longer has a value.
    #[inline(always)]
    pub(super) fn end_all(
        &mut self,
        change: &Change<'_>,
        removal: Removal<'_>,
        context: &Context<'_>,
    ) -> Noted {
        self.ledger.end_all(change, removal, context, &mut self.subscribers)
    }

    /// Returns the bytes that the memories of ended holds take. O(1).
    pub(in crate::locks) fn past_bytes(&self) -> usize {
        self.ledger.past_bytes() + self.unleased.memory()
    }

    /// Forgets how holds have ended, and frees that memory.
    pub(in crate::locks) fn forget_past(&mut self) {
        self.ledger.forget_past();
        self.unleased.clear();
    }

    /// Returns the bytes of what clients have had recorded: the history, open sections and observed patterns. O(1).
    pub(in crate::locks) fn recorded_bytes(&self) -> usize {
        self.history().map_or(0, History::memory) + self.ledger.observed.memory() + self.sections.memory()
    }

    /// Returns the bytes of the records, before an allocator rounds them up. O(1).
    pub(super) fn bytes(&self) -> usize {
        let followed = self.fair_queues.memory() + self.semaphores.memory() + self.plain_sets.memory();
        let of_connections = self.subscribers.leases.bytes() + self.subscribers.news.bytes();
        let of_clients = self.past_bytes() + self.recorded_bytes() + of_connections;
        size_of::<Self>() + self.ledger.bytes_of_holds() + followed + of_clients
    }

    /// Removes the facts about a database whose keys are all gone. The end of their holds has been handled before.
    pub(super) fn flushed(&mut self, db: usize) {
        self.ledger.flushed(db);
        self.unleased.flushed(db);
        self.subscribers.flushed(db);
    }

    /// Exchanges the facts about two databases, as their keys have been exchanged. O(all facts).
    pub(super) fn swapped(&mut self, one: usize, other: usize) {
        self.ledger.swapped(one, other);
        self.subscribers.swapped(one, other);
        self.unleased.swap(one, other);
        self.plain_sets = PlainSets::new(self.seed);
        self.fair_queues.swap(one, other);
        self.semaphores.swap(one, other);
    }

    /// Whether the records know only numbers of grants, and no component needs more. A script then adds only a number
    /// to take a lock, and the fact of its release. The keyspace may handle such locks by itself.
    pub(super) fn is_quiet(&self) -> bool {
        self.ledger.is_bare() && self.subscribers.is_quiet()
    }
}
