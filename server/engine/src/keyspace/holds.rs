//! What is known of holds on locks beyond the values of their keys: who was granted them when, and how they ended.
//!
//! Redisson's layout has no place for these. The number of a key's only hold stands beside its entry; all else is here.
//! No command on keys shows it.

use super::endings::Recent;
use super::grants::Grant;
use super::place::{At, Place};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// How a hold on a lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// What took it away named its owner: he gave it back, natively or by Redisson's script.
    Released,
    /// Its lease ran out.
    Expired,
    /// A script took it away that did not name its owner.
    Forced,
    /// A command did that deletes, renames or flushes keys.
    Deleted,
    /// Its key was given another value.
    Overwritten,
}

impl EndCause {
    /// As replies spell it.
    pub fn name(self) -> &'static str {
        match self {
            EndCause::Released => "released",
            EndCause::Expired => "expired",
            EndCause::Forced => "forced",
            EndCause::Deleted => "deleted",
            EndCause::Overwritten => "overwritten",
        }
    }
}

/// The end of a hold that its owner did not give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How it ended.
    pub cause: EndCause,
    /// When, in wall milliseconds.
    pub wall_ms: i64,
    /// The number of its grant.
    pub grant: u64,
}

/// The grants of a key's holds, by owner.
pub(super) type Several = BTreeMap<Box<[u8]>, Grant>;

/// What is known of holds, in all databases.
#[derive(Debug)]
pub(super) struct Holds {
    /// The number of the last grant. Nothing takes it back, also when all keys go.
    pub(super) last_grant: u64,
    /// Of keys with several holds.
    pub(super) several: HashMap<Place, Several, FixedState>,
    /// How the last hold of a key ended, as far as it is remembered.
    pub(super) ends: Recent<EndCause>,
    /// The last loss of a key and owner, until that owner acquires it again, as far as it is remembered.
    pub(super) losses: Recent<Loss>,
}

impl Holds {
    /// No holds. The seed decides the hash of keys.
    pub(super) fn new(seed: u64) -> Self {
        let several = HashMap::with_hasher(FixedState::with_seed(seed));
        Holds { last_grant: 0, several, ends: Recent::new(seed), losses: Recent::new(seed) }
    }

    /// The next grant.
    #[inline]
    pub(super) fn grant(&mut self, native: bool) -> Grant {
        self.last_grant += 1;
        Grant { number: self.last_grant, native }
    }

    /// The grants of a key with several holds.
    pub(super) fn of_several(&self, db: usize, key: &[u8]) -> Option<&Several> {
        self.several.get(&At(db, key))
    }

    /// A hold has ended. One that a foreign owner has given back, while nobody waited natively, is not worth a place.
    #[inline]
    pub(super) fn ended(
        &mut self,
        db: usize,
        key: &[u8],
        owner: &[u8],
        grant: Grant,
        end: Loss,
        waited_for: bool,
    ) {
        let is_forgotten = end.cause == EndCause::Released && !grant.native && !waited_for;
        if !is_forgotten || !self.ends.is_empty() {
            self.remember(db, key, owner, grant, end, waited_for);
        }
    }

    fn remember(&mut self, db: usize, key: &[u8], owner: &[u8], grant: Grant, end: Loss, waited_for: bool) {
        if end.cause != EndCause::Released {
            self.losses.remember(db, key, owner, end);
        }
        if grant.native || waited_for || end.cause != EndCause::Released {
            self.ends.remember(db, key, b"", end.cause);
        } else if let Some(cause) = self.ends.get_mut(db, key, b"") {
            *cause = end.cause;
        }
    }

    /// All keys of a database are gone.
    pub(super) fn flushed(&mut self, db: usize) {
        self.several.retain(|(of, _), _| *of != db);
    }
}
