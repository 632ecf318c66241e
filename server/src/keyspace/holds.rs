//! What native locks know of keys beyond their values: the token of a hold, and how the last one ended.
//!
//! Redisson's layout has no place for these. They live beside the keys, follow a key's removal whoever causes it, and
//! no command on keys shows them.

use super::endings::{Endings, MOST};
use super::grants::{Grants, HeldIn};

/// How a hold on a lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// Its owner gave it back, natively or by Redisson's script.
    Released,
    /// Its lease ran out.
    Expired,
    /// The key was deleted, overwritten, renamed or flushed.
    Deleted,
}

impl EndCause {
    /// As replies spell it.
    pub fn name(self) -> &'static str {
        match self {
            EndCause::Released => "released",
            EndCause::Expired => "expired",
            EndCause::Deleted => "deleted",
        }
    }
}

/// A hold that was granted natively.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who was granted it.
    pub owner: Box<[u8]>,
    /// Its token: above every earlier one of this server.
    pub token: u64,
}

/// The end of the last hold of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub cause: EndCause,
    /// When, in wall milliseconds.
    pub wall_ms: i64,
    /// The native hold that ended; none when somebody else held it.
    pub grant: Option<Grant>,
}

/// Native holds and the ends of recent ones, by database and key.
#[derive(Debug)]
pub struct Holds {
    grants: Grants,
    endings: Endings,
    last_token: u64,
}

impl Holds {
    /// No holds. The seed decides the hash of keys.
    pub(super) fn new(seed: u64) -> Self {
        Holds { grants: Grants::new(seed), endings: Endings::new(seed), last_token: 0 }
    }

    /// A native grant of a key that nobody held; its token. O(1).
    pub fn grant(&mut self, db: usize, key: &[u8], owner: &[u8]) -> u64 {
        self.last_token += 1;
        self.grants.insert(db, key, Grant { owner: owner.into(), token: self.last_token });
        self.last_token
    }

    /// The native hold of a key, if there is one.
    pub fn get(&self, db: usize, key: &[u8]) -> Option<&Grant> {
        self.grants.get(db, key)
    }

    /// How the last hold of a key ended, as far as it is remembered.
    pub fn last_end(&self, db: usize, key: &[u8]) -> Option<&Ended> {
        self.endings.get(db, key)
    }

    /// The key is gone. `waited_for`: somebody waits for it as a lock, so its end matters whoever held it.
    pub(super) fn gone(&mut self, db: usize, key: &[u8], cause: EndCause, wall_ms: i64, waited_for: bool) {
        if self.grants.is_empty() && !waited_for {
            return;
        }
        match self.grants.remove(db, key) {
            Some((key, grant)) => {
                self.endings.remember(db, key, Ended { cause, wall_ms, grant: Some(grant) })
            }
            None if waited_for => {
                self.endings.remember(db, key.into(), Ended { cause, wall_ms, grant: None })
            }
            None => {}
        }
    }

    /// All keys of a database are gone, and with them its native holds, which are given back to be freed. As many are
    /// remembered as would be if they had gone one by one, and those of `waited_for`, which were there.
    pub(super) fn flushed<'a>(
        &mut self,
        db: usize,
        waited_for: impl Iterator<Item = &'a [u8]>,
        wall_ms: i64,
    ) -> HeldIn {
        let waited_for: Vec<_> =
            waited_for.map(|key| (Box::from(key), self.grants.get(db, key).cloned())).collect();
        let held = self.grants.take(db);
        let ended = |grant| Ended { cause: EndCause::Deleted, wall_ms, grant };
        for (key, grant) in held.iter().take(MOST) {
            self.endings.remember(db, key.clone(), ended(Some(grant.clone())));
        }
        for (key, grant) in waited_for {
            self.endings.remember(db, key, ended(grant));
        }
        held
    }

    /// The deletion of the key was its owner giving the lock back.
    pub fn was_release(&mut self, db: usize, key: &[u8]) {
        if let Some(ended) = self.endings.get_mut(db, key)
            && ended.cause == EndCause::Deleted
        {
            ended.cause = EndCause::Released;
        }
    }
}
