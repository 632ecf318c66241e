//! Changes of keys, as subscribers see them.

use super::actor::Actor;
use super::database::Database;
use super::db_key::hash_of;
use super::event::Event;
use super::interests::Interests;
use super::mark::Mark;
use crate::time::Now;
use crate::values::Value;
use foldhash::quality::FixedState;

/// The number of a key's entry. It is valid as long as the key exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryId(pub(super) u32);

/// One change of a key.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The database of the key.
    pub db: usize,
    /// The key. Empty if whole databases were flushed or exchanged.
    pub key: &'a [u8],
    /// The kind of change.
    pub what: &'a What<'a>,
    /// The cause.
    pub actor: &'a Actor<'a>,
    /// The instant of the change.
    pub now: Now,
}

/// The kind of a change of a key.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// The key has another value or deadline, or is gone. Reported after a command has made the change.
    Changed {
        /// The event of its notification, if there is one.
        event: Option<Event>,
    },
    /// The content is unchanged, but data that belongs to it has changed: the read positions of a stream's groups.
    ChangedQuietly,
    /// The key's hash has a new field.
    FieldAdded {
        /// The key's entry, which has the field.
        at: EntryId,
        /// The field.
        field: &'a [u8],
    },
    /// The key's hash, which is marked, has a greater number than before in a field.
    FieldRaised {
        /// The field.
        field: &'a [u8],
    },
    /// The key is marked, holds a string, and has another deadline.
    Redated,
    /// The key's hash, which is marked, is about to lose a field.
    FieldRemoved {
        /// The key's entry, which still has the field.
        at: EntryId,
        /// The field.
        field: &'a [u8],
        /// The reason.
        cause: Cause,
    },
    /// The key was set on the condition that it was absent.
    SetIfAbsent {
        /// The key's entry, with its value and deadline.
        at: EntryId,
        /// The string that the key was set to.
        text: &'a [u8],
    },
    /// The key was given another key's value. Reported if that key was marked or goes, or if this key has waiters.
    Copied {
        /// The key's entry, with its value.
        at: EntryId,
        /// The database of the other key.
        from_db: usize,
        /// The other key.
        from: &'a [u8],
        /// The mark of the other key.
        mark: Option<Mark>,
        /// Whether the other key was removed by that.
        moved: bool,
    },
    /// The key is new and has a value that another server has written.
    Restored {
        /// The key's entry, with its value and deadline.
        at: EntryId,
        /// The mark that the key had, if a state that it had before is restored.
        mark: Option<Mark>,
    },
    /// The key was given another value without being removed, and has kept its mark.
    Replaced {
        /// The key's entry, with the new value.
        at: EntryId,
        /// The previous value.
        before: &'a Value,
    },
    /// The key is gone, or is about to be given a value of another kind.
    Removed(Removal<'a>),
    /// All keys of the database are gone.
    Flushed(Flushed<'a>),
    /// The keys of two databases have been exchanged.
    Swapped {
        /// The first database.
        one: usize,
        /// The second database.
        other: usize,
    },
    /// The keys of the database are about to be exchanged with another's. Reported for both databases.
    Leaving {
        /// The other database.
        to: usize,
    },
    /// The keys of the database have come from another one by an exchange. Reported for both databases.
    Arrived {
        /// The other database.
        from: usize,
    },
}

/// The removal of a key.
#[derive(Clone, Copy, Debug)]
pub struct Removal<'a> {
    /// The value that it had.
    pub value: &'a Value,
    /// The mark that it had.
    pub mark: Option<Mark>,
    /// The reason.
    pub cause: Cause,
}

/// The reason why a key is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A command removed it.
    Command,
    /// A command puts another value in its place.
    Overwrite,
    /// The server used more memory than `maxmemory` allows.
    Eviction,
    /// Its deadline has passed.
    Deadline {
        /// Whether an advance of the clock brought the deadline nearer, so that waiters are to be notified.
        turned: bool,
    },
}

/// The keys that a flushed database had.
#[derive(Clone, Copy, Debug)]
pub struct Flushed<'a> {
    pub(super) gone: &'a Database,
    pub(super) hasher: &'a FixedState,
    pub(super) waited_for: &'a [Box<[u8]>],
    /// Whether the same FLUSHALL has flushed another database before.
    pub is_rest: bool,
}

impl<'a> Flushed<'a> {
    /// The marked keys, in an order that depends only on the insertions.
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
    /// The interests that this change serves: a subscriber with any of them receives it.
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
