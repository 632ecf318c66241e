//! The layouts of a lock in its key, each with the steps to take the lock.

pub(super) mod fair;
pub(super) mod plain;
pub(super) mod read_write;
pub(super) mod text;

use super::redisson::{queue_key, write_field};
use super::snapshot::{LockLayout, LockMode};
use crate::spec::CommandError;
use lockwheel_store::keyspace::{EntryId, Tx};
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A hash with one owner: Redisson's RLock.
    Plain,
    /// A reader in Redisson's read-write lock.
    Shared,
    /// The writer in Redisson's read-write lock.
    Exclusive,
    /// A hash with one owner, and a queue of its waiters in further keys: Redisson's fair lock.
    Fair {
        /// The time for which the owner stays in the queue, in milliseconds.
        wait_ms: i64,
    },
    /// A string with the owner, as `SET key owner NX` makes it.
    Text,
}

/// The state of a lock for one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Free,
    Mine(i64),
    Others,
}

impl Layout {
    /// Returns the state of a lock in this layout for an owner. Fails if the key holds something else.
    pub(super) fn standing(
        self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
    ) -> Result<Standing, CommandError> {
        match self {
            Layout::Plain => plain::standing(tx, key, owner),
            Layout::Fair { .. } => fair::standing(tx, key, owner),
            Layout::Shared => read_write::standing_of_reader(tx, key, owner),
            Layout::Exclusive => read_write::standing_of_writer(tx, key, owner),
            Layout::Text => text::standing(tx, key, owner),
        }
    }

    /// Takes a lock. `admit` maps the state of the lock to the owner's number of holds then, or to `None` to refuse.
    /// Returns the entry of the key, or `None`. Fails, without a change, if the key holds something else or by `admit`.
    #[inline]
    pub(super) fn hold(
        self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
        lease_ms: i64,
        admit: impl FnOnce(&mut Tx<'_>, Standing) -> Result<Option<i64>, CommandError>,
    ) -> Result<Option<EntryId>, CommandError> {
        let standing = self.standing(tx, key, owner)?;
        let Some(holds) = admit(tx, standing)? else { return Ok(None) };
        let at = match self {
            Layout::Plain => plain::take(tx, key, owner, holds, lease_ms)?,
            Layout::Fair { wait_ms } => fair::take(tx, key, owner, holds, (lease_ms, wait_ms))?,
            Layout::Shared => read_write::read(tx, key, owner, holds, lease_ms)?,
            Layout::Exclusive => read_write::write(tx, key, owner, holds, lease_ms)?,
            Layout::Text => text::take(tx, key, owner, lease_ms),
        };
        Ok(Some(at))
    }

    /// Returns the names in LOCK.INFO of the layout and of a hold in it.
    pub(super) fn kind(self) -> (LockLayout, LockMode) {
        match self {
            Layout::Plain | Layout::Fair { .. } => (LockLayout::Hash, LockMode::Exclusive),
            Layout::Shared => (LockLayout::ReadWrite, LockMode::Shared),
            Layout::Exclusive => (LockLayout::ReadWrite, LockMode::Exclusive),
            Layout::Text => (LockLayout::String, LockMode::Exclusive),
        }
    }

    pub(super) fn field<'o>(self, owner: &'o [u8]) -> Cow<'o, [u8]> {
        match self {
            Layout::Exclusive => Cow::Owned(write_field(owner)),
            _ => Cow::Borrowed(owner),
        }
    }

    /// Puts an owner that is about to wait into the queue beside the lock. Returns that queue's key, if there is one.
    pub(super) fn join(
        self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
    ) -> Result<Option<Box<[u8]>>, CommandError> {
        let Layout::Fair { wait_ms } = self else { return Ok(None) };
        fair::join(tx, key, owner, wait_ms)?;
        Ok(Some(queue_key(key).into_vec().into()))
    }

    /// Ends a retry of a waiting owner: a served one leaves the queue beside the lock, any other keeps its place.
    pub(super) fn retried(
        self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
        is_served: bool,
    ) -> Result<(), CommandError> {
        match self {
            Layout::Fair { wait_ms } if is_served => fair::leave_served(tx, key, owner, wait_ms),
            Layout::Fair { wait_ms } => fair::keep(tx, key, owner, wait_ms)?,
            _ => {}
        }
        Ok(())
    }

    /// Returns the instant at which the queue beside the lock is due although nothing changes, in wall milliseconds.
    pub(super) fn ready_at_ms(self, tx: &mut Tx<'_>, key: &[u8]) -> Option<i64> {
        let Layout::Fair { wait_ms } = self else { return None };
        fair::ready_at_ms(tx, key, wait_ms)
    }

    /// Removes an owner that no longer waits from the queue beside the lock.
    pub(super) fn leave(self, tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) {
        if let Layout::Fair { wait_ms } = self
            && !fair::waits(tx, key, owner)
        {
            // A queue of another type belongs to no lock.
            let _ = fair::leave(tx, key, owner, wait_ms);
        }
    }
}
