//! The owners of locks, the grants by which they hold them, and how holds ended.

use super::super::redisson::{self, DELAY_FIELD};
use super::details::{Detail, Details};
use super::grant::{Grant, Marked};
use super::hold_events::{BegunHold, EndedHold, LedgerSubscriber};
use super::observed::Observed;
use super::read_leases::ReadLeases;
use super::recent_releases::RecentReleases;
use super::release::{LastEnd, Release, ReleaseCause};
use super::shared_holders::SharedHolders;
use lockwheel_store::keyspace::{Cause, Change, Context, EntryId, Mark, Removal};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;

#[derive(Debug)]
pub(in crate::locks) struct LockLedger {
    owners: SharedHolders,
    pub(in crate::locks) details: Details,
    pub(in crate::locks) read_leases: ReadLeases,
    /// The end of the last hold of each key, unless it has been forgotten since.
    causes: RecentReleases<LastEnd>,
    /// The last loss by key and owner: a release that the owner did not make. Kept until it acquires the lock again.
    losses: RecentReleases<Release>,
    /// The cause that the present command declares for the holds that it ends.
    declared: Option<ReleaseCause>,
    /// Whether the ledger observes holds that no native command has taken.
    pub(in crate::locks) observes: bool,
    pub(in crate::locks) observed: Observed,
}

impl LockLedger {
    /// Creates an empty ledger. The seed decides the hash of keys.
    pub(in crate::locks) fn new(seed: u64) -> Self {
        LockLedger {
            owners: SharedHolders::new(seed),
            details: Details::default(),
            read_leases: ReadLeases::new(seed),
            causes: RecentReleases::new(seed),
            losses: RecentReleases::new(seed),
            declared: None,
            observes: true,
            observed: Observed::default(),
        }
    }

    /// Declares the cause of all holds that end from now on. `None` returns to the cause that the ledger sees.
    pub(in crate::locks) fn declare(&mut self, cause: Option<ReleaseCause>) {
        self.declared = cause;
    }

    pub(in crate::locks) fn declared(&self) -> Option<ReleaseCause> {
        self.declared
    }

    /// Returns how the last hold of a key ended, unless it has been forgotten. O(1).
    #[inline]
    pub(in crate::locks) fn last_cause(
        &self,
        db: usize,
        key: &[u8],
        context: &Context<'_>,
    ) -> Option<ReleaseCause> {
        let given_back = || context.was_given_back(db, key).then_some(ReleaseCause::Released);
        self.causes.get(db, key, b"").map(|last| last.cause).or_else(given_back)
    }

    /// Whether a native command has taken a key, as far as the ledger remembers. O(1).
    pub(in crate::locks) fn was_native(&self, db: usize, key: &[u8]) -> bool {
        self.causes.get(db, key, b"").is_some_and(|last| last.was_native)
    }

    /// Whether the last hold of a key ended because its value was replaced, as far as the ledger remembers. O(1).
    pub(in crate::locks) fn was_overwritten(&self, db: usize, key: &[u8]) -> bool {
        let last = self.causes.get(db, key, b"");
        last.is_some_and(|last| last.cause == ReleaseCause::Overwritten)
    }

    /// Returns how an owner last lost a key, until it acquires the key again or the loss is forgotten. O(1).
    pub(in crate::locks) fn last_loss(&self, db: usize, key: &[u8], owner: &[u8]) -> Option<Release> {
        self.losses.get(db, key, owner).copied()
    }

    /// Returns the number of the latest grant among the owners of a marked key. O(n), n the owners.
    pub(in crate::locks) fn current_grant(&self, db: usize, key: &[u8], mark: Mark) -> Option<u64> {
        match Marked::read(mark) {
            Marked::One(grant) => Some(grant.number),
            Marked::Several => self.owners.get(db, key)?.values().map(|grant| grant.number).max(),
            Marked::ReadLease(_) => None,
        }
    }

    /// Whether an owner of a marked key has this token. O(n), n the owners.
    pub(in crate::locks) fn has_grant(&self, db: usize, key: &[u8], mark: Mark, token: u64) -> bool {
        match Marked::read(mark) {
            Marked::One(grant) => self.details.token_of(grant.number) == token,
            Marked::Several => self.owners.get(db, key).is_some_and(|owners| {
                owners.values().any(|grant| self.details.token_of(grant.number) == token)
            }),
            Marked::ReadLease(_) => false,
        }
    }

    /// Returns the grant by which an owner holds a marked key of this value, if the server saw it. O(log owners).
    #[inline]
    pub(in crate::locks) fn grant_of(
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

    /// Returns the known owners of a marked key of this value, and whether each holds it natively. O(n log n).
    pub(in crate::locks) fn owners_of(
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

    /// Begins a hold of the key, which names the owner already. Returns the number of the grant. O(log n) owners.
    #[inline(always)]
    pub(in crate::locks) fn begin(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        mark: Option<Mark>,
        (owner, native): (&[u8], bool),
        now: Now,
        context: &mut Context<'_>,
        subscriber: &mut impl LedgerSubscriber,
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
        let hold = BegunHold { place: (db, key, at), owner, grant, declared: self.declared, now };
        subscriber.begun(&hold, context);
        grant.number
    }

    /// Stores a grant for a key that has had an owner already, or names others.
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

    /// Gives an owner that a key names the grant that it has on another server. With `replaces`, that grant also
    /// replaces a known one, which a replica has made up. Returns whether the grant is new here.
    pub(in crate::locks) fn inherit(
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

    /// Ends the hold of an owner that is about to be taken out of the hash of a key.
    #[inline(never)]
    pub(in crate::locks) fn end(
        &mut self,
        change: &Change<'_>,
        at: EntryId,
        (owner, cause): (&[u8], Cause),
        context: &mut Context<'_>,
        subscriber: &mut impl LedgerSubscriber,
    ) {
        let &Change { db, key, actor, .. } = change;
        let Some(mark) = context.mark(at) else { return };
        let Some(grant) = self.grant_of(db, key, (context.value(at), mark), owner) else { return };
        if !self.owners.remove(db, key, owner) {
            context.take_mark(at);
        }
        let cause = ReleaseCause::of(cause, actor, owner);
        let noted = self.ended(change, (owner, grant), cause, context, subscriber);
        noted.tell(db, key, context);
    }

    /// Ends all holds of a key that no longer has a value.
    #[inline(always)]
    pub(in crate::locks) fn end_all(
        &mut self,
        change: &Change<'_>,
        removal: Removal<'_>,
        context: &Context<'_>,
        subscriber: &mut impl LedgerSubscriber,
    ) -> Noted {
        let mut noted = Noted::Nothing;
        let Removal { value, mark, cause } = removal;
        let &Change { db, key, actor, .. } = change;
        match mark.map(Marked::read) {
            Some(Marked::One(grant)) => {
                redisson::with_first_owner(value, |owner| {
                    let cause = ReleaseCause::of(cause, actor, owner);
                    noted = self.ended(change, (owner, grant), cause, context, subscriber);
                });
            }
            Some(Marked::Several) => {
                for (owner, grant) in self.owners.take(db, key).into_iter().flatten() {
                    let cause = ReleaseCause::of(cause, actor, &owner);
                    let ended = self.ended(change, (&owner, grant), cause, context, subscriber);
                    noted = noted.then(ended);
                }
            }
            Some(Marked::ReadLease(number)) => drop(self.read_leases.take(number)),
            // The server saw nobody take the lock, but a client waits until it is free.
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

    /// Passes the holds of one field to another, by the same grant. Both fields are in the hash of the key.
    pub(in crate::locks) fn convert(
        &mut self,
        (db, key, at): (usize, &[u8], EntryId),
        (from, to): (&[u8], &[u8]),
        context: &mut Context<'_>,
        subscriber: &mut impl LedgerSubscriber,
    ) {
        let Some(mark) = context.mark(at) else { return };
        let Some(grant) = self.grant_of(db, key, (context.value(at), mark), from) else { return };
        self.owners.remove(db, key, from);
        self.owners.insert(db, key, to, grant);
        context.set_mark(at, Marked::Several.mark());
        subscriber.converted((db, key), to, context);
    }

    /// Returns the bytes that the memories of ended holds take. O(1).
    pub(in crate::locks) fn past_bytes(&self) -> usize {
        self.causes.memory() + self.losses.memory()
    }

    /// Forgets how holds have ended, and frees that memory.
    pub(in crate::locks) fn forget_past(&mut self) {
        self.causes.clear();
        self.losses.clear();
    }

    /// Returns the bytes of the facts about present holds, before an allocator rounds them up. O(1).
    pub(in crate::locks) fn bytes_of_holds(&self) -> usize {
        self.owners.memory() + self.details.memory() + self.read_leases.memory()
    }

    /// Whether the ledger knows nothing but the numbers of grants.
    pub(in crate::locks) fn is_bare(&self) -> bool {
        let forgets = || self.causes.is_empty() && self.losses.is_empty();
        let is_no_more_known = || self.details.is_empty() && self.read_leases.is_empty();
        forgets() && is_no_more_known() && self.declared.is_none()
    }

    /// Removes the facts about a database whose keys are all gone. The end of their holds has been handled before.
    pub(in crate::locks) fn flushed(&mut self, db: usize) {
        self.owners.flushed(db);
        self.details.flushed(db);
        self.read_leases.flushed(db);
    }

    /// Exchanges the facts about two databases, as their keys have been exchanged. O(all facts).
    pub(in crate::locks) fn swapped(&mut self, one: usize, other: usize) {
        self.owners.swap(one, other);
        self.details.swap(one, other);
        self.read_leases.swap(one, other);
        self.causes.swap(one, other);
        self.losses.swap(one, other);
    }

    /// Handles the end of a hold. A foreign owner's release is not worth a record if nobody waited natively.
    #[inline]
    fn ended(
        &mut self,
        change: &Change<'_>,
        (owner, grant): (&[u8], Grant),
        cause: ReleaseCause,
        context: &Context<'_>,
        subscriber: &mut impl LedgerSubscriber,
    ) -> Noted {
        let is_waited_for = context.is_waited_for_in(change.db, change.key);
        let cause = self.declared.unwrap_or(cause);
        let detail = self.details.remove(grant.number);
        let delay = detail
            .and_then(|Detail { delay, .. }| delay)
            .filter(|_| matches!(cause, ReleaseCause::Expired | ReleaseCause::Disconnected));
        subscriber.ended(change, &EndedHold { owner, grant, cause, delay, is_waited_for }, context);
        let is_forgotten = cause == ReleaseCause::Released && !grant.native && !is_waited_for;
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

/// The note that the keyspace keeps about a key after the end of its last hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(in crate::locks) enum Noted {
    Nothing,
    GivenBack,
    /// The hold has ended otherwise.
    Otherwise,
}

impl Noted {
    /// Combines two notes: the later one counts, unless it is `Nothing`.
    fn then(self, later: Noted) -> Noted {
        if later == Noted::Nothing { self } else { later }
    }

    #[inline]
    pub(in crate::locks) fn tell(self, db: usize, key: &[u8], context: &mut Context<'_>) {
        match self {
            Noted::Nothing => {}
            Noted::GivenBack => context.remember_given_back(db, key),
            Noted::Otherwise => context.forget_given_back(db, key),
        }
    }
}
