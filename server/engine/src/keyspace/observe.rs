//! Holds as the changes of keys show them: who has come to hold a key as a lock, whose hold has ended, and how.
//!
//! Who took the lock does not matter, a native command, a script or a bare SET: what counts is what the key says.

use super::actor::Actor;
use super::database::Database;
use super::endings::MOST;
use super::grants::{Grant, GrantSlot};
use super::holds::{EndCause, Loss};
use super::owners::{self, MODE_FIELD};
use super::place::At;
use super::tx::EntryId;
use super::{Keyspace, Tx, hash_of};
use crate::time::Now;
use crate::values::Value;

/// What has ended the holds of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum End<'a> {
    /// This, whatever the owners.
    Of(EndCause),
    /// Somebody, who may have been their owner.
    By(Actor<'a>),
}

impl End<'_> {
    fn cause(self, owner: &[u8]) -> EndCause {
        match self {
            End::Of(cause) => cause,
            End::By(actor) => actor.end_of(owner),
        }
    }
}

impl Tx<'_> {
    /// A field has been added to the hash of a key: perhaps an owner's. O(1) for all others.
    #[inline]
    pub fn field_added(&mut self, at: EntryId, key: &[u8], field: &[u8]) {
        let is_lock = self.keyspace.databases[self.db].entry(at.0).is_lock();
        if !is_lock && owners::is_redissons(field) {
            self.begin_hold(at, key, field, false);
        } else if is_lock {
            self.owner_added(at, key, field);
        }
    }

    #[cold]
    fn owner_added(&mut self, at: EntryId, key: &[u8], owner: &[u8]) {
        if owner != MODE_FIELD && self.grant_at(at, key, owner).is_none() {
            self.begin_hold(at, key, owner, false);
        }
    }

    /// An owner has come to hold the key of this entry, which names it already; the number of the grant. O(log n),
    /// n the owners.
    pub fn begin_hold(&mut self, at: EntryId, key: &[u8], owner: &[u8], native: bool) -> u64 {
        let Keyspace { databases, holds, .. } = &mut *self.keyspace;
        let database = &mut databases[self.db];
        let grant = holds.grant(native);
        if !holds.losses.is_empty() {
            holds.losses.forget(self.db, key, owner);
        }
        let entry = database.entry(at.0);
        let first = !entry.is_lock() && matches!(&entry.value, Value::Hash(hash) if hash.len() == 1);
        if first {
            database.set_grant(at.0, GrantSlot::of(grant));
        } else {
            self.begin_another(at, key, owner, grant);
        }
        grant.number
    }

    /// The same of a key that has had a hold already, or names others.
    fn begin_another(&mut self, at: EntryId, key: &[u8], owner: &[u8], grant: Grant) {
        let Keyspace { databases, holds, .. } = &mut *self.keyspace;
        let (db, database) = (self.db, &mut databases[self.db]);
        let alone = match &database.entry(at.0).value {
            Value::Hash(hash) => owners::of_hash(hash).nth(1).is_none(),
            _ => true,
        };
        let before = database.grant(at.0);
        if alone && before != Some(GrantSlot::SEVERAL) {
            return database.set_grant(at.0, GrantSlot::of(grant));
        }
        let several = holds.several.entry((db, key.into())).or_default();
        if let Some(earlier) = before.and_then(GrantSlot::grant) {
            owners::with_first(&database.entry(at.0).value, |first| several.insert(first.into(), earlier));
        }
        several.insert(owner.into(), grant);
        database.set_grant(at.0, GrantSlot::SEVERAL);
    }

    /// An owner is about to be taken out of the hash of a key.
    pub fn end_hold(&mut self, at: EntryId, key: &[u8], owner: &[u8]) {
        let Some(grant) = self.grant_at(at, key, owner) else { return };
        let keyspace = &mut *self.keyspace;
        let place = At(self.db, key);
        let left = keyspace.holds.several.get_mut(&place).is_some_and(|several| {
            several.remove(owner);
            !several.is_empty()
        });
        if !left {
            keyspace.holds.several.remove(&place);
            keyspace.databases[self.db].take_grant(at.0);
        }
        let end = Loss { cause: self.actor.end_of(owner), wall_ms: self.now.wall_ms(), grant: grant.number };
        let waited_for = keyspace.waiters.waits_for(self.db, key);
        keyspace.holds.ended(self.db, key, owner, grant, end, waited_for);
    }

    fn grant_at(&self, at: EntryId, key: &[u8], owner: &[u8]) -> Option<Grant> {
        let database = &self.keyspace.databases[self.db];
        match database.grant(at.0)?.grant() {
            None => self.keyspace.holds.of_several(self.db, key)?.get(owner).copied(),
            grant => {
                let is_first = |first: &[u8]| first == owner;
                grant.filter(|_| owners::with_first(&database.entry(at.0).value, is_first) == Some(true))
            }
        }
    }

    /// Who is known to hold a key as a lock, and whether natively. O(n log n), n the owners.
    pub fn holders(&self, key: &[u8]) -> Vec<(Box<[u8]>, bool)> {
        let Some(at) = self.find_lock(key) else { return Vec::new() };
        let known = |owner: &[u8]| Some((owner.into(), self.grant_at(at, key, owner)?.native));
        match &self.keyspace.databases[self.db].entry(at.0).value {
            Value::Hash(hash) => owners::of_hash(hash).filter_map(known).collect(),
            value => owners::with_first(value, known).flatten().into_iter().collect(),
        }
    }

    fn find_lock(&self, key: &[u8]) -> Option<EntryId> {
        self.keyspace.databases[self.db].find_lock(hash_of(&self.keyspace.hasher, key), key).map(EntryId)
    }

    /// The grant by which an owner holds a key, if it was seen to take it. O(log n), n the owners.
    pub fn grant(&self, key: &[u8], owner: &[u8]) -> Option<Grant> {
        self.grant_at(self.find_lock(key)?, key, owner)
    }

    /// The number of the last grant of those who hold a key. O(n), n the owners.
    pub fn current_grant(&self, key: &[u8]) -> Option<u64> {
        match self.keyspace.databases[self.db].grant(self.find_lock(key)?.0)?.grant() {
            Some(grant) => Some(grant.number),
            None => self.keyspace.holds.of_several(self.db, key)?.values().map(|grant| grant.number).max(),
        }
    }

    /// How an owner's hold of a key was lost, until it acquires it again, as far as it is remembered. O(1).
    pub fn loss(&self, key: &[u8], owner: &[u8]) -> Option<Loss> {
        self.keyspace.holds.losses.get(self.db, key, owner).copied()
    }

    /// How the last hold of a key ended, as far as it is remembered. O(1).
    pub fn last_end(&self, key: &[u8]) -> Option<EndCause> {
        self.keyspace.holds.ends.get(self.db, key, b"").copied()
    }

    /// A key that may be a lock was given another value. The same text again is its owner's, who goes on holding it.
    #[cold]
    pub(super) fn overwritten(&mut self, at: EntryId, key: &[u8], old: &Value) {
        let database = &mut self.keyspace.databases[self.db];
        if let (Value::Str(old), Value::Str(new)) = (old, &database.entry(at.0).value)
            && *old.text() == *new.text()
        {
            return;
        }
        let grant = database.take_grant(at.0);
        self.keyspace.gone(self.db, key, old, grant, End::Of(EndCause::Overwritten), self.now);
    }

    /// All keys of the database are gone. As many losses are remembered as would be if they had gone one by one, and
    /// those of keys that are waited for. O(these).
    pub(super) fn flushed(&mut self, gone: &Database, waited_for: &[Box<[u8]>]) {
        let (keyspace, db, now, end) = (&mut *self.keyspace, self.db, self.now, End::By(self.actor));
        for (entry, grant) in gone.locks().take(MOST) {
            keyspace.gone(db, entry.key(), &entry.value, Some(grant), end, now);
        }
        for key in waited_for {
            let hash = hash_of(&keyspace.hasher, key);
            let Some(entry) = gone.find(hash, key) else { continue };
            let grant = gone.find_lock(hash, key).and_then(|id| gone.grant(id));
            keyspace.gone(db, key, &entry.value, grant, end, now);
        }
        keyspace.holds.flushed(db);
    }
}

impl Keyspace {
    /// A key no longer has this value: whoever held it as a lock holds it no longer.
    #[inline]
    pub(super) fn gone(
        &mut self,
        db: usize,
        key: &[u8],
        value: &Value,
        grant: Option<GrantSlot>,
        end: End<'_>,
        now: Now,
    ) {
        if grant.is_some() || self.waiters.keys() > 0 {
            self.holds_gone(db, key, value, grant, end, now);
        }
    }

    fn holds_gone(
        &mut self,
        db: usize,
        key: &[u8],
        value: &Value,
        grant: Option<GrantSlot>,
        end: End<'_>,
        now: Now,
    ) {
        let waited_for = self.waiters.waits_for(db, key);
        let holds = &mut self.holds;
        let mut ended = |owner: &[u8], grant: Grant| {
            let loss = Loss { cause: end.cause(owner), wall_ms: now.wall_ms(), grant: grant.number };
            holds.ended(db, key, owner, grant, loss, waited_for);
        };
        match grant.map(GrantSlot::grant) {
            Some(Some(grant)) => drop(owners::with_first(value, |owner| ended(owner, grant))),
            Some(None) => {
                for (owner, grant) in self.holds.several.remove(&At(db, key)).into_iter().flatten() {
                    let loss = Loss { cause: end.cause(&owner), wall_ms: now.wall_ms(), grant: grant.number };
                    self.holds.ended(db, key, &owner, grant, loss, waited_for);
                }
            }
            // Nobody was seen to take it, but somebody waits until it is free.
            None if waited_for => {
                owners::with_first(value, |owner| holds.ends.remember(db, key, b"", end.cause(owner)));
            }
            None => {}
        }
    }
}
