//! Who holds locks, by which grants, and how holds ended.

use super::super::events::{HoldNews, News};
use super::super::history::{Event, History, Sections};
use super::super::redisson::{self, DELAY_FIELD};
use super::super::session_leases::SessionLeases;
use super::details::{Delay, Detail, Details};
use super::fair_queues::FairQueues;
use super::grant::{Grant, Marked};
use super::joint_owners::JointOwners;
use super::limits::VerifyLimits;
use super::observed::Observed;
use super::plain_sets::PlainSets;
use super::read_leases::ReadLeases;
use super::recent_releases::RecentReleases;
use super::release::{LastEnd, Release, ReleaseCause};
use super::semaphores::Semaphores;
use super::unleased::Unleased;
use lockwheel_store::keyspace::{Cause, Change, Context, EntryId, KeyTimer, Mark, Removal};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;
use std::collections::VecDeque;

/// What is known of locks, in all databases.
#[derive(Debug)]
pub(crate) struct LockLedger {
    /// Of locks with several owners.
    owners: JointOwners,
    /// What else is known of holds.
    pub(super) details: Details,
    /// The leases of read holds.
    pub(super) read_leases: ReadLeases,
    /// How the last hold of a key ended, as far as it is remembered.
    pub(super) causes: RecentReleases<LastEnd>,
    /// The last release of a key and owner that was not that owner's, until it acquires the lock again, as far as it is
    /// remembered.
    pub(super) losses: RecentReleases<Release>,
    /// The holds, and what else is leased, that last as long as a connection.
    pub(super) leases: SessionLeases,
    /// The delays of locks that were lost just now, in the order in which their follow-ups come.
    pub(super) delays: VecDeque<(usize, Box<[u8]>, Delay)>,
    /// How many of them have no follow-up yet.
    pub(super) delays_untold: usize,
    /// What is to be told of holds, and to whom.
    pub(super) news: News,
    /// Why the present command ends holds, where it says so itself.
    declared: Option<ReleaseCause>,
    /// Whether holds are observed that no native command has taken.
    pub(super) observes: bool,
    /// What LOCK.OBSERVE names.
    pub(in crate::locks) observed: Observed,
    /// The history, while it is on.
    pub(super) history: Option<Box<History>>,
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
    /// How much of its lease a hold has left when its owner is told, in milliseconds; 0: it is not.
    pub(in crate::locks) jeopardy_ms: i64,
    /// What LOCK.VERIFY goes by.
    pub(in crate::locks) limits: VerifyLimits,
    pub(super) seed: u64,
}

impl LockLedger {
    /// Nobody holds anything. The seed decides the hash of keys.
    pub(crate) fn new(seed: u64) -> Self {
        LockLedger {
            owners: JointOwners::new(seed),
            details: Details::default(),
            read_leases: ReadLeases::new(seed),
            causes: RecentReleases::new(seed),
            losses: RecentReleases::new(seed),
            leases: SessionLeases::default(),
            delays: VecDeque::new(),
            delays_untold: 0,
            news: News::default(),
            declared: None,
            observes: true,
            observed: Observed::default(),
            history: None,
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
            jeopardy_ms: 0,
            limits: VerifyLimits::default(),
            seed,
        }
    }

    /// From now on holds end for this cause; with `None`, for the one that is seen.
    pub(in crate::locks) fn declare(&mut self, cause: Option<ReleaseCause>) {
        self.declared = cause;
    }

    /// For which cause holds end at present, if the command says so itself.
    pub(super) fn declared(&self) -> Option<ReleaseCause> {
        self.declared
    }

    /// How the last hold of a key ended, as far as it is remembered. O(1).
    #[inline]
    pub(super) fn last_cause(&self, db: usize, key: &[u8], context: &Context<'_>) -> Option<ReleaseCause> {
        let given_back = || context.was_given_back(db, key).then_some(ReleaseCause::Released);
        self.causes.get(db, key, b"").map(|last| last.cause).or_else(given_back)
    }

    /// Whether a native command has taken a key, as far as that is remembered. O(1).
    pub(super) fn was_native(&self, db: usize, key: &[u8]) -> bool {
        self.causes.get(db, key, b"").is_some_and(|last| last.was_native)
    }

    /// How an owner's hold of a key was lost, until it acquires it again, as far as it is remembered. O(1).
    pub(super) fn last_loss(&self, db: usize, key: &[u8], owner: &[u8]) -> Option<Release> {
        self.losses.get(db, key, owner).copied()
    }

    /// The number of the last grant of those who hold a marked key. O(n), n the owners.
    pub(super) fn current_grant(&self, db: usize, key: &[u8], mark: Mark) -> Option<u64> {
        match Marked::read(mark) {
            Marked::One(grant) => Some(grant.number),
            Marked::Several => self.owners.get(db, key)?.values().map(|grant| grant.number).max(),
            Marked::ReadLease(_) => None,
        }
    }

    /// Whether this is the token of one of those who hold a marked key. O(n), n the owners.
    pub(super) fn has_grant(&self, db: usize, key: &[u8], mark: Mark, token: u64) -> bool {
        match Marked::read(mark) {
            Marked::One(grant) => self.details.token_of(grant.number) == token,
            Marked::Several => self.owners.get(db, key).is_some_and(|owners| {
                owners.values().any(|grant| self.details.token_of(grant.number) == token)
            }),
            Marked::ReadLease(_) => false,
        }
    }

    /// The grant by which an owner holds a marked key of this value, if it was seen to take it. O(log n), n the owners.
    #[inline]
    pub(super) fn grant_of(
        &self,
        db: usize,
        key: &[u8],
        (value, mark): (&Value, Mark),
        owner: &[u8],
    ) -> Option<Grant> {
        match Marked::read(mark) {
            Marked::One(grant) => {
                let is_first = redisson::with_first_owner(value, |first| first == owner);
                (is_first == Some(true)).then_some(grant)
            }
            Marked::Several => self.owners.get(db, key)?.get(owner).copied(),
            Marked::ReadLease(_) => None,
        }
    }

    /// Who is known to hold a marked key of this value, and whether natively. O(n log n), n the owners.
    pub(super) fn owners_of(
        &self,
        db: usize,
        key: &[u8],
        (value, mark): (&Value, Mark),
    ) -> Vec<(Box<[u8]>, bool)> {
        let known = |owner: &[u8]| Some((owner.into(), self.grant_of(db, key, (value, mark), owner)?.native));
        match value {
            Value::Hash(hash) => redisson::owners(hash).filter_map(known).collect(),
            value => redisson::with_first_owner(value, known).flatten().into_iter().collect(),
        }
    }

    /// An owner has come to hold the key of this entry, which has this mark and names it already; the number of the
    /// grant. O(log n), n
    /// the owners.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        mark: Option<Mark>,
        owner: &[u8],
        native: bool,
        now: Now,
        context: &mut Context<'_>,
    ) -> u64 {
        let grant = Grant { number: context.next_number(), native };
        if !self.losses.is_empty() {
            self.losses.forget(db, key, owner);
        }
        let is_only = matches!(context.value(at), Value::Hash(hash) if hash.len() == 1);
        if is_only && mark.is_none() {
            context.set_mark(at, Marked::One(grant).mark());
        } else {
            self.begin_another((db, key, at), mark, owner, grant, context);
        }
        if self.history.is_some() {
            self.record_grant((Event::Acquired, None), (db, key, at), owner, grant, now, context);
        }
        if self.news.is_wanted() {
            let hold = HoldNews { db, key, owner: redisson::owner_of(owner), grant: grant.number };
            self.news.begun(&hold, native);
        }
        if context.is_waited_for(key) {
            self.waits_again((db, key), owner, context);
        }
        if self.jeopardy_ms > 0 {
            self.watch_lease(key, at, now, context);
        }
        grant.number
    }

    /// When little of the lease of a lock is left, its owners are to be told.
    #[cold]
    pub(super) fn watch_lease(&mut self, key: &[u8], at: EntryId, now: Now, context: &mut Context<'_>) {
        // A script that is taking the lock sets its lease next: that is looked at when the script has ended.
        let near_ms = context.deadline(at).map(|deadline| deadline.saturating_sub(self.jeopardy_ms));
        context.set_key_timer(key, KeyTimer::Jeopardy, near_ms.unwrap_or(now.wall_ms()));
    }

    /// The same of a key that has had an owner already, or names others.
    fn begin_another(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        mark: Option<Mark>,
        owner: &[u8],
        grant: Grant,
        context: &mut Context<'_>,
    ) {
        let alone = match context.value(at) {
            Value::Hash(hash) => redisson::owners(hash).nth(1).is_none(),
            _ => true,
        };
        let before = mark.map(Marked::read);
        if alone && before != Some(Marked::Several) {
            return context.set_mark(at, Marked::One(grant).mark());
        }
        if let Some(Marked::One(earlier)) = before {
            redisson::with_first_owner(context.value(at), |first| {
                self.owners.insert(db, key, first, earlier)
            });
        }
        self.owners.insert(db, key, owner, grant);
        context.set_mark(at, Marked::Several.mark());
    }

    /// An owner that a key names holds it by the grant of another server; `replaces`: also if one is known here, which
    /// a replica has made up. Whether it is news.
    pub(super) fn inherit(
        &mut self,
        (db, key): (usize, &[u8]),
        owner: &[u8],
        (grant, replaces): (Grant, bool),
        context: &mut Context<'_>,
    ) -> bool {
        let Some(at) = context.entry(key) else { return false };
        let mark = context.mark(at);
        let is_named = match context.value(at) {
            Value::Hash(hash) => hash.contains(owner),
            Value::Str(text) => *text.text() == *owner,
            _ => false,
        };
        let is_known = mark.is_some_and(|mark| {
            let known = self.grant_of(db, key, (context.value(at), mark), owner);
            let is_right = known.is_some_and(|known| !replaces || known == grant);
            is_right || matches!(Marked::read(mark), Marked::ReadLease(_))
        });
        let is_news = is_named && !is_known;
        if is_news {
            self.begin_another((db, key, at), mark, owner, grant, context);
        }
        is_news
    }

    /// An owner is about to be taken out of the hash of a key.
    #[inline(never)]
    pub(super) fn end(
        &mut self,
        change: &Change<'_>,
        at: EntryId,
        (owner, cause): (&[u8], Cause),
        context: &mut Context<'_>,
    ) {
        let &Change { db, key, actor, .. } = change;
        let Some(mark) = context.mark(at) else { return };
        let Some(grant) = self.grant_of(db, key, (context.value(at), mark), owner) else { return };
        if !self.owners.remove(db, key, owner) {
            context.take_mark(at);
        }
        let cause = ReleaseCause::of(cause, actor, owner);
        let noted = self.ended(change, (owner, grant), cause, context);
        noted.tell(db, key, context);
    }

    /// A key no longer has a value: whoever held it as a lock holds it no longer.
    #[inline(always)]
    pub(super) fn end_all(
        &mut self,
        change: &Change<'_>,
        removal: Removal<'_>,
        context: &Context<'_>,
    ) -> Noted {
        let mut noted = Noted::Nothing;
        let Removal { value, mark, cause } = removal;
        let &Change { db, key, actor, .. } = change;
        match mark.map(Marked::read) {
            Some(Marked::One(grant)) => {
                redisson::with_first_owner(value, |owner| {
                    let cause = ReleaseCause::of(cause, actor, owner);
                    noted = self.ended(change, (owner, grant), cause, context);
                });
            }
            Some(Marked::Several) => {
                for (owner, grant) in self.owners.take(db, key).into_iter().flatten() {
                    let cause = ReleaseCause::of(cause, actor, &owner);
                    noted = noted.then(self.ended(change, (&owner, grant), cause, context));
                }
            }
            Some(Marked::ReadLease(number)) => drop(self.read_leases.take(number)),
            // Nobody was seen to take it, but somebody waits until it is free.
            None if context.is_waited_for_in(db, key) => {
                redisson::with_first_owner(value, |owner| {
                    // After a delay the cause is still that of the loss.
                    if owner != DELAY_FIELD {
                        let cause = ReleaseCause::of(cause, actor, owner);
                        self.remember_end((db, key), cause, false);
                    }
                });
            }
            None => {}
        }
        noted
    }

    /// The holds of one field are another's from now on, by the same grant; both are in the hash of the key.
    pub(super) fn convert(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        (from, to): (&[u8], &[u8]),
        context: &mut Context<'_>,
    ) {
        let Some(mark) = context.mark(at) else { return };
        let Some(grant) = self.grant_of(db, key, (context.value(at), mark), from) else { return };
        self.owners.remove(db, key, from);
        self.owners.insert(db, key, to, grant);
        context.set_mark(at, Marked::Several.mark());
        if context.is_waited_for(key) {
            self.waits_again((db, key), to, context);
        }
    }

    /// An owner has come to hold a key that is waited for, or no longer holds it: what it waits for itself may close a
    /// cycle now.
    #[cold]
    #[inline(never)]
    fn waits_again(&mut self, (db, key): (usize, &[u8]), owner: &[u8], context: &Context<'_>) {
        let owner = redisson::owner_of(owner);
        if context.waits_as(db, owner) {
            self.news.hold_changed(db, key, owner);
        }
    }

    /// Bytes of what is remembered of holds that have ended. O(1).
    pub(in crate::locks) fn past_bytes(&self) -> usize {
        self.causes.memory() + self.losses.memory() + self.unleased.memory()
    }

    /// Forgets how holds have ended, and gives that memory back.
    pub(in crate::locks) fn forget_past(&mut self) {
        self.causes.clear();
        self.losses.clear();
        self.unleased.clear();
    }

    /// Bytes of what clients have had recorded: the history, open sections and observed patterns. O(1).
    pub(in crate::locks) fn recorded_bytes(&self) -> usize {
        let history = self.history.as_deref().map_or(0, History::memory);
        history + self.observed.memory() + self.sections.memory()
    }

    /// Bytes of all of it, before an allocator rounds them up. O(1).
    pub(super) fn bytes(&self) -> usize {
        let of_holds = self.owners.memory() + self.details.memory() + self.read_leases.memory();
        let followed = self.fair_queues.memory() + self.semaphores.memory() + self.plain_sets.memory();
        let of_connections = self.leases.bytes() + self.news.bytes();
        let of_clients = self.past_bytes() + self.recorded_bytes() + of_connections;
        size_of::<Self>() + of_holds + followed + of_clients
    }

    /// All keys of a database are gone, and their owners have been seen to.
    pub(super) fn flushed(&mut self, db: usize) {
        self.owners.flushed(db);
        self.leases.flushed(db);
        self.details.flushed(db);
        self.read_leases.flushed(db);
        self.news.flushed(db);
    }

    /// The keys of two databases have been exchanged: what is known of them goes with them. O(all that is known).
    pub(super) fn swapped(&mut self, one: usize, other: usize) {
        self.owners.swap(one, other);
        self.details.swap(one, other);
        self.read_leases.swap(one, other);
        self.causes.swap(one, other);
        self.losses.swap(one, other);
        self.leases.swapped(one, other);
        self.news.swapped(one, other);
        for (db, ..) in self.delays.iter_mut().filter(|(db, ..)| *db == one || *db == other) {
            *db = if *db == one { other } else { one };
        }
        self.unleased.swap(one, other);
        self.fair_queues.swap(one, other);
        self.semaphores.swap(one, other);
    }

    /// A hold has ended. One that a foreign owner has given back, while nobody waited natively, is not worth a place.
    #[inline]
    fn ended(
        &mut self,
        change: &Change<'_>,
        (owner, grant): (&[u8], Grant),
        cause: ReleaseCause,
        context: &Context<'_>,
    ) -> Noted {
        let waited_for = context.is_waited_for_in(change.db, change.key);
        let cause = self.declared.unwrap_or(cause);
        let mut delay_ms = None;
        if let Some(Detail { delay: Some(delay), .. }) = self.details.remove(grant.number)
            && matches!(cause, ReleaseCause::Expired | ReleaseCause::Disconnected)
        {
            delay_ms = Some(delay.ms);
            self.delays.push_back((change.db, change.key.into(), delay));
            self.delays_untold += 1;
        }
        if !self.leases.is_empty() {
            self.leases.end(grant.number);
        }
        if self.history.is_some() {
            self.record_end(change, owner, grant, cause, delay_ms);
        }
        if waited_for {
            self.waits_again((change.db, change.key), owner, context);
        }
        if self.news.is_wanted() {
            let &Change { db, key, .. } = change;
            let hold = HoldNews { db, key, owner: redisson::owner_of(owner), grant: grant.number };
            self.news.ended(&hold, cause.name());
            if cause == ReleaseCause::Deleted && is_delete(change) {
                self.news.lint((db, key), hold.owner, "bare-delete");
            }
        }
        let is_forgotten = cause == ReleaseCause::Released && !grant.native && !waited_for;
        if is_forgotten && self.causes.is_empty() {
            Noted::GivenBack
        } else {
            self.remember(change, (owner, grant), cause, is_forgotten)
        }
    }

    fn remember(
        &mut self,
        change: &Change<'_>,
        (owner, grant): (&[u8], Grant),
        cause: ReleaseCause,
        is_forgotten: bool,
    ) -> Noted {
        let &Change { db, key, now, .. } = change;
        if cause != ReleaseCause::Released {
            let release = Release { cause, wall_ms: now.wall_ms(), grant: grant.number };
            self.losses.remember(db, key, owner, release);
        }
        if !is_forgotten {
            self.remember_end((db, key), cause, grant.native);
            Noted::Otherwise
        } else if let Some(last) = self.causes.get_mut(db, key, b"") {
            last.cause = cause;
            Noted::Nothing
        } else {
            Noted::GivenBack
        }
    }

    fn remember_end(&mut self, (db, key): (usize, &[u8]), cause: ReleaseCause, is_native: bool) {
        let was_native = is_native || self.was_native(db, key);
        self.causes.remember(db, key, b"", LastEnd { cause, was_native });
    }
}

/// What is to be noted of a key whose last hold has ended, where there is nothing else to remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Noted {
    /// No more than is known.
    Nothing,
    /// It was given back.
    GivenBack,
    /// It has ended otherwise.
    Otherwise,
}

impl Noted {
    /// This, and then that.
    fn then(self, later: Noted) -> Noted {
        if later == Noted::Nothing { self } else { later }
    }

    /// Notes it beside the keys.
    #[inline]
    pub(super) fn tell(self, db: usize, key: &[u8], context: &mut Context<'_>) {
        match self {
            Noted::Nothing => {}
            Noted::GivenBack => context.remember_given_back(db, key),
            Noted::Otherwise => context.forget_given_back(db, key),
        }
    }
}

/// Whether a command of a client removes what it names, and not all that there is.
fn is_delete(change: &Change<'_>) -> bool {
    const DELETES: [&[u8]; 4] = [b"del", b"unlink", b"getdel", b"hdel"];
    let name = change.actor.command.first().copied().unwrap_or_default();
    DELETES.iter().any(|delete| name.eq_ignore_ascii_case(delete))
}
