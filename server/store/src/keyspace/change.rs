//! What happened to a key, as subscribers see it.

use super::actor::Actor;
use super::database::Database;
use super::db_key::hash_of;
use super::event::Event;
use super::interests::Interests;
use super::mark::Mark;
use crate::time::Now;
use crate::values::Value;
use foldhash::quality::FixedState;

/// The number of a key's entry, as long as the key is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryId(pub(super) u32);

/// One thing that happened to a key.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The database of the key.
    pub db: usize,
    /// The key; empty when whole databases were flushed or exchanged.
    pub key: &'a [u8],
    /// What happened to it.
    pub what: &'a What<'a>,
    /// Its cause.
    pub actor: &'a Actor<'a>,
    /// When.
    pub now: Now,
}

/// What happened to a key.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// It has another value or deadline, or is gone: reported once a command has done it.
    Changed {
        /// The event of its notification, if there is one.
        event: Option<Event>,
    },
    /// What stands beside its content has changed: what groups of a stream have read.
    ChangedQuietly,
    /// Its hash has a field more.
    FieldAdded {
        /// Its entry, which has the field.
        at: EntryId,
        /// The field.
        field: &'a [u8],
    },
    /// Its hash, which is marked, has a greater number than before in a field.
    FieldRaised {
        /// The field.
        field: &'a [u8],
    },
    /// It is marked, holds a text, and has another deadline.
    Redated,
    /// Its hash, which is marked, is about to lose a field.
    FieldRemoved {
        /// Its entry, which still has the field.
        at: EntryId,
        /// The field.
        field: &'a [u8],
        /// Why.
        cause: Cause,
    },
    /// It was set on the condition that it was absent.
    SetIfAbsent {
        /// Its entry, with its value and deadline.
        at: EntryId,
        /// The text that it was set to.
        text: &'a [u8],
    },
    /// It was given the value of another key, which was marked or is gone by that; or it is waited for.
    Copied {
        /// Its entry, with its value.
        at: EntryId,
        /// The database of the other key.
        from_db: usize,
        /// The other key.
        from: &'a [u8],
        /// The mark beside the other key.
        mark: Option<Mark>,
        /// Whether the other key was removed by that.
        moved: bool,
    },
    /// It is a new key, whose value another server has written.
    Restored {
        /// Its entry, with its value and deadline.
        at: EntryId,
        /// The mark that stood beside it, if it is what it has been before.
        mark: Option<Mark>,
    },
    /// It was given another value without being removed. Its mark has stayed.
    Replaced {
        /// Its entry, with the new value.
        at: EntryId,
        /// The value before.
        before: &'a Value,
    },
    /// It is gone, or about to be given a value of another kind.
    Removed(Removal<'a>),
    /// All keys of the database are gone.
    Flushed(Flushed<'a>),
    /// The keys of two databases have been exchanged.
    Swapped {
        /// The one.
        one: usize,
        /// The other.
        other: usize,
    },
    /// The keys of the database are about to go to this one, by an exchange. Each of the two has this before.
    Leaving {
        /// The other database.
        to: usize,
    },
    /// The keys of the database have come from this one, by an exchange. Each of the two has this behind.
    Arrived {
        /// The other database.
        from: usize,
    },
}

/// A key that is gone.
#[derive(Clone, Copy, Debug)]
pub struct Removal<'a> {
    /// The value that it had.
    pub value: &'a Value,
    /// The mark that stood beside it.
    pub mark: Option<Mark>,
    /// Why it is gone.
    pub cause: Cause,
}

/// Why a key is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A command has removed it.
    Command,
    /// A command puts another value there.
    Overwrite,
    /// There were more bytes than `maxmemory`.
    Eviction,
    /// Its deadline is over.
    Deadline {
        /// The clock was turned past it, and waiters are to be notified.
        turned: bool,
    },
}

/// The keys that a database had.
#[derive(Clone, Copy, Debug)]
pub struct Flushed<'a> {
    pub(super) gone: &'a Database,
    pub(super) hasher: &'a FixedState,
    pub(super) waited_for: &'a [Box<[u8]>],
    /// Whether another database was flushed before, by the same flush of all.
    pub is_rest: bool,
}

impl<'a> Flushed<'a> {
    /// The marked keys, in an order that depends only on what was put in.
    pub fn marked(self) -> impl Iterator<Item = (&'a [u8], Removal<'a>)> {
        self.gone.marked().map(|(entry, mark)| (entry.key(), Removal::by_command(&entry.value, Some(mark))))
    }

    /// The keys that have waiters, in the order of their first waiters' arrival.
    pub fn waited_for(self) -> impl Iterator<Item = (&'a [u8], Removal<'a>)> {
        self.waited_for.iter().filter_map(move |key| {
            let hash = hash_of(self.hasher, key);
            let entry = self.gone.find(hash, key)?;
            let mark = self.gone.find_marked(hash, key).and_then(|id| self.gone.mark(id));
            Some((&**key, Removal::by_command(&entry.value, mark)))
        })
    }
}

impl<'a> Removal<'a> {
    fn by_command(value: &'a Value, mark: Option<Mark>) -> Self {
        Removal { value, mark, cause: Cause::Command }
    }
}

impl What<'_> {
    /// A subscriber with any of these interests gets this change.
    pub(super) fn interests(&self) -> Interests {
        match self {
            What::Changed { .. } => Interests::KEYS,
            What::ChangedQuietly => Interests::QUIET,
            What::FieldAdded { .. } | What::SetIfAbsent { .. } | What::Restored { .. } => Interests::ADDED,
            What::Copied { .. } => Interests::ADDED.with(Interests::VALUES),
            What::FieldRaised { .. } | What::Redated => Interests::VALUES,
            What::FieldRemoved { .. } | What::Replaced { .. } | What::Removed(_) => Interests::VALUES,
            What::Flushed(_) | What::Swapped { .. } => Interests::KEYS.with(Interests::VALUES),
            What::Leaving { .. } | What::Arrived { .. } => Interests::EXCHANGES,
        }
    }
}
