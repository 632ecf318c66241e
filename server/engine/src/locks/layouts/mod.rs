//! How a lock stands in its key: the layouts, each with what it takes to hold it.

pub(super) mod fair;
pub(super) mod plain;
pub(super) mod read_write;
pub(super) mod text;

use super::redisson::write_field;
use super::snapshot::{LockLayout, LockMode};
use crate::spec::CommandError;
use lockwheel_store::keyspace::{EntryId, Tx};
use std::borrow::Cow;

/// How a lock stands in its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// A hash with one owner: Redisson's RLock.
    Plain,
    /// A reader in Redisson's read-write lock.
    Shared,
    /// The writer in Redisson's read-write lock.
    Exclusive,
    /// A hash with one owner, beside which its waiters queue: Redisson's fair lock.
    Fair,
    /// A string with its owner, as `SET key owner NX` makes it.
    Text,
}

/// The state of a lock for one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The owner can take it.
    Free,
    /// The owner holds it so many times.
    Mine(i64),
    /// Others hold it.
    Others,
}

impl Layout {
    /// The state of a lock in this layout for an owner.
    ///
    /// Errors: the key holds something else.
    pub(super) fn standing(
        self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
    ) -> Result<Standing, CommandError> {
        match self {
            Layout::Plain => plain::standing(tx, key, owner),
            Layout::Fair => fair::standing(tx, key, owner),
            Layout::Shared => read_write::standing_of_reader(tx, key, owner),
            Layout::Exclusive => read_write::standing_of_writer(tx, key, owner),
            Layout::Text => text::standing(tx, key, owner),
        }
    }

    /// Writes a lock that its owner may take: for the so many-th time, with this lease. The entry of its key.
    pub(super) fn take(
        self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
        holds: i64,
        lease_ms: i64,
    ) -> Result<EntryId, CommandError> {
        match self {
            Layout::Plain | Layout::Fair => plain::take(tx, key, owner, holds, lease_ms),
            Layout::Shared => read_write::read(tx, key, owner, holds, lease_ms),
            Layout::Exclusive => read_write::write(tx, key, owner, holds, lease_ms),
            Layout::Text => Ok(text::take(tx, key, owner, lease_ms)),
        }
    }

    /// What LOCK.INFO calls it, and a hold in it.
    pub(super) fn kind(self) -> (LockLayout, LockMode) {
        match self {
            Layout::Plain | Layout::Fair => (LockLayout::Hash, LockMode::Exclusive),
            Layout::Shared => (LockLayout::ReadWrite, LockMode::Shared),
            Layout::Exclusive => (LockLayout::ReadWrite, LockMode::Exclusive),
            Layout::Text => (LockLayout::String, LockMode::Exclusive),
        }
    }

    /// The field that stands for an owner.
    pub(super) fn field<'o>(self, owner: &'o [u8]) -> Cow<'o, [u8]> {
        match self {
            Layout::Exclusive => Cow::Owned(write_field(owner)),
            _ => Cow::Borrowed(owner),
        }
    }
}
