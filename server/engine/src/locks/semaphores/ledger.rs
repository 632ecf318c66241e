//! The facts about semaphores beyond their keys: the total of permits, and their holders.
//!
//! An account belongs to one incarnation of its key. The account ends when the key is deleted, flushed, renamed, moved
//! or overwritten, or expires. Changes by Redisson or by bare commands that are not seen are inferred from the count.

use super::super::records::{is_semaphore_command, permits_of_key};
use super::super::redisson;
use super::holds::Holds;
use lockwheel_store::keyspace::{
    CalledBy, Change, Context, DbKey, EntryId, Interests, KeyTimer, Subscriber, What,
};
use lockwheel_store::values::Value;
use std::collections::BTreeMap;

/// The account of one semaphore. The permits left and held always add up to `initial` and `adjustments`.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// The permits that the semaphore began with.
    pub(super) initial: i64,
    /// The permits that have been added since, or taken away if negative.
    pub(super) adjustments: i64,
    pub(super) holds: Holds,
}

impl Account {
    fn new(initial: i64) -> Self {
        Account { initial, ..Account::default() }
    }

    /// Returns the number of all permits.
    pub(super) fn total(&self) -> i64 {
        self.initial.saturating_add(self.adjustments)
    }

    /// Adjusts the total to the permits that are left and those with ids that are out: an excess was added.
    pub(super) fn observe(&mut self, left: i64, ids: i64) {
        let seen = left.saturating_add(self.holds.plain()).saturating_add(ids);
        let added = seen.saturating_sub(self.total()).max(0);
        self.adjustments = self.adjustments.saturating_add(added);
    }

    fn bytes(&self) -> usize {
        size_of::<(DbKey, Account)>() + self.holds.bytes()
    }
}

/// The accounts of all semaphores that native commands have touched.
#[derive(Debug, Default)]
pub(crate) struct SemaphoreLedger {
    accounts: BTreeMap<DbKey, Account>,
    bytes: usize,
}

impl SemaphoreLedger {
    /// Returns the account of a semaphore. O(log n).
    pub(super) fn account(&self, db: usize, key: &[u8]) -> Option<&Account> {
        if self.accounts.is_empty() {
            return None;
        }
        self.accounts.get(&(db, key.into()))
    }

    /// Whether there is any account.
    pub(super) fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Opens the account of a semaphore that restarts with `initial` permits. O(log n).
    pub(super) fn open(&mut self, db: usize, key: &[u8], initial: i64) {
        self.close(db, key);
        self.bytes += key.len() + size_of::<(DbKey, Account)>();
        self.accounts.insert((db, key.into()), Account::new(initial));
    }

    /// Changes the account of a semaphore, which is opened with `initial` if it has none. O(log n), and the change.
    pub(super) fn change<T>(
        &mut self,
        db: usize,
        key: &[u8],
        initial: i64,
        change: impl FnOnce(&mut Account) -> T,
    ) -> T {
        if self.account(db, key).is_none() {
            self.open(db, key, initial);
        }
        let account = self.accounts.entry((db, key.into())).or_default();
        let before = account.bytes();
        let result = change(account);
        self.bytes = self.bytes - before + account.bytes();
        result
    }

    /// Removes the account of a key whose incarnation has ended. Whether there was one. O(log n).
    fn close(&mut self, db: usize, key: &[u8]) -> bool {
        if self.accounts.is_empty() {
            return false;
        }
        let Some(account) = self.accounts.remove(&(db, key.into())) else { return false };
        self.bytes -= key.len() + account.bytes();
        true
    }

    /// Removes the account of a key, and its timer.
    fn end(&mut self, db: usize, key: &[u8], context: &mut Context<'_>) {
        if self.close(db, key) {
            context.cancel_key_timer(db, key, KeyTimer::Lease);
        }
    }

    /// Handles another count that a script has written to the key. Redisson adds permits so, and drains them.
    fn replaced(&mut self, change: &Change<'_>, at: EntryId, before: &Value, context: &mut Context<'_>) {
        let count = |value: &Value| if let Value::Str(text) = value { text.to_i64() } else { None };
        let counts = count(before).zip(count(context.value(at)));
        let (CalledBy::Script(_), Some((before, after))) = (change.actor.called_by, counts) else {
            return self.end(change.db, change.key, context);
        };
        let is_drained = after == 0 && before > 0;
        if let Some(account) = self.accounts.get_mut(&(change.db, change.key.into())).filter(|_| !is_drained)
        {
            account.adjustments = account.adjustments.saturating_add(after.saturating_sub(before));
        }
    }

    /// Handles a change of a count or its leases by a script or a bare command. Returns beyond the holders add permits.
    fn seen(&mut self, change: &Change<'_>, context: &Context<'_>) {
        let &Change { db, key, actor, .. } = change;
        if is_semaphore_command(actor) {
            return;
        }
        let is_count = self.account(db, key).is_some();
        let name = if is_count { Some(key) } else { redisson::semaphore_of_leases(key) };
        if let Some(name) = name
            && let Some(account) = self.accounts.get_mut(&(db, name.into()))
            && let Some((left, ids)) = permits_of_key(name, context)
        {
            account.observe(left, ids);
        }
    }

    fn flushed(&mut self, db: usize, context: &mut Context<'_>) {
        let keys: Vec<DbKey> = self.accounts.keys().filter(|(of, _)| *of == db).cloned().collect();
        keys.iter().for_each(|(db, key)| self.end(*db, key, context));
    }

    fn swapped(&mut self, one: usize, other: usize) {
        let rename = |((db, key), account): (DbKey, Account)| {
            let db = if db == one {
                other
            } else if db == other {
                one
            } else {
                db
            };
            ((db, key), account)
        };
        self.accounts = std::mem::take(&mut self.accounts).into_iter().map(rename).collect();
    }
}

impl Subscriber for SemaphoreLedger {
    /// Returns all keys that are removed or changed while there are accounts: keys of semaphores are not marked.
    fn interests(&self) -> Interests {
        let all = Interests::ALL_VALUES.with(Interests::KEYS);
        if self.accounts.is_empty() { Interests::NONE } else { all }
    }

    fn memory(&self) -> usize {
        self.bytes
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        match *change.what {
            What::Removed(_) => self.end(change.db, change.key, context),
            What::Copied { from_db, from, moved: true, .. } => self.end(from_db, from, context),
            What::Replaced { at, before } => self.replaced(change, at, before, context),
            What::Flushed(_) => self.flushed(change.db, context),
            What::Swapped { one, other } => self.swapped(one, other),
            What::Changed { .. } => self.seen(change, context),
            _ => {}
        }
    }
}
