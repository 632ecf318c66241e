//! The records of locks: the ledger, its subscribers, and what the history is fed from besides.

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

/// The records of locks, in all databases.
#[derive(Debug)]
pub(crate) struct LockRecords {
    /// The facts about holds.
    pub(in crate::locks) ledger: LockLedger,
    /// The subscribers of the ledger.
    pub(super) subscribers: LedgerSubscribers,
    /// Whether leases and counts that change matter: to the history, or to owners who are told when little is left.
    pub(super) sees_leases: bool,
    /// An owner has just been written into a hash, of which the grant has been recorded: the event of that follows.
    pub(super) is_granted: bool,
    /// The entry of the lock that was taken last.
    pub(super) last_taken: EntryId,
    /// Texts that were set lately because they were absent, without a lease; while the history is on.
    pub(super) unleased: RecentReleases<Unleased>,
    /// Texts that were set lately without a condition, and compared; while the history is on.
    pub(super) plain_sets: PlainSets,
    /// The queues of fair locks; while the history is on.
    pub(super) fair_queues: FairQueues,
    /// Semaphores; while the history is on.
    pub(super) semaphores: Semaphores,
    /// Sections that clients have declared.
    pub(in crate::locks) sections: Sections,
    /// The number of histories that have begun.
    pub(in crate::locks) histories: u64,
    /// The last entry of the history that LOCK.STATS does not count.
    pub(in crate::locks) counted_up_to: u64,
    /// The limits of LOCK.VERIFY.
    pub(in crate::locks) limits: VerifyLimits,
    pub(super) seed: u64,
}

impl LockRecords {
    /// Nobody holds anything. The seed decides the hash of keys.
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

    /// An owner has come to hold the key of this entry, which has this mark and names it already; the number of the
    /// grant. O(log n), n the owners.
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

    /// A key no longer has a value: whoever held it as a lock holds it no longer.
    #[inline(always)]
    pub(super) fn end_all(
        &mut self,
        change: &Change<'_>,
        removal: Removal<'_>,
        context: &Context<'_>,
    ) -> Noted {
        self.ledger.end_all(change, removal, context, &mut self.subscribers)
    }

    /// Bytes of what is remembered of holds that have ended. O(1).
    pub(in crate::locks) fn past_bytes(&self) -> usize {
        self.ledger.past_bytes() + self.unleased.memory()
    }

    /// Forgets how holds have ended, and gives that memory back.
    pub(in crate::locks) fn forget_past(&mut self) {
        self.ledger.forget_past();
        self.unleased.clear();
    }

    /// Bytes of what clients have had recorded: the history, open sections and observed patterns. O(1).
    pub(in crate::locks) fn recorded_bytes(&self) -> usize {
        self.history().map_or(0, History::memory) + self.ledger.observed.memory() + self.sections.memory()
    }

    /// Bytes of all of it, before an allocator rounds them up. O(1).
    pub(super) fn bytes(&self) -> usize {
        let followed = self.fair_queues.memory() + self.semaphores.memory() + self.plain_sets.memory();
        let of_connections = self.subscribers.leases.bytes() + self.subscribers.news.bytes();
        let of_clients = self.past_bytes() + self.recorded_bytes() + of_connections;
        size_of::<Self>() + self.ledger.bytes_of_holds() + followed + of_clients
    }

    /// All keys of a database are gone, and their owners have been seen to.
    pub(super) fn flushed(&mut self, db: usize) {
        self.ledger.flushed(db);
        self.subscribers.flushed(db);
    }

    /// The keys of two databases have been exchanged: what is known of them goes with them. O(all that is known).
    pub(super) fn swapped(&mut self, one: usize, other: usize) {
        self.ledger.swapped(one, other);
        self.subscribers.swapped(one, other);
        self.unleased.swap(one, other);
        self.fair_queues.swap(one, other);
        self.semaphores.swap(one, other);
    }

    /// Whether nothing is known beyond numbers of grants, and nobody wants to know more: that a script takes a free
    /// lock is a number then, and when it gives it back there is nothing to know but that. The keyspace may see to such
    /// locks by itself.
    pub(super) fn is_quiet(&self) -> bool {
        self.ledger.is_bare() && self.subscribers.is_quiet()
    }
}
