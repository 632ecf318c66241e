//! The marks beside entries.

use super::Database;
use crate::keyspace::entry::Entry;
use crate::keyspace::mark::Mark;
use crate::pages::Store;
use crate::values::Value;

impl Database {
    pub(in crate::keyspace) fn find_marked(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.id(hash, key).filter(|&id| self.entries.get(id).is_marked())
    }

    #[inline]
    pub(in crate::keyspace) fn mark(&self, id: u32) -> Option<Mark> {
        self.entries.get(id).is_marked().then(|| *self.marks.get(id))
    }

    #[inline(always)]
    pub(in crate::keyspace) fn set_mark(&mut self, id: u32, mark: Mark) {
        let entry = self.entries.get_mut(id);
        if entry.is_marked() {
            *self.marks.get_mut(id) = mark;
        } else {
            entry.set_marked(true);
            self.marks.insert_at(id, mark);
        }
    }

    /// Marks an entry that has no mark, if it is a hash of one field; returns whether it was.
    #[inline(always)]
    pub(in crate::keyspace) fn mark_sole_field(&mut self, id: u32, mark: Mark) -> bool {
        let entry = self.entries.get_mut(id);
        let is_sole = !entry.is_marked() && matches!(&entry.value, Value::Hash(hash) if hash.len() == 1);
        if is_sole {
            entry.set_marked(true);
            self.marks.insert_at(id, mark);
        }
        is_sole
    }

    /// Stores the mark of an entry whose flag is set already.
    #[inline(always)]
    pub(in crate::keyspace) fn keep_mark(&mut self, id: u32, mark: Mark) {
        self.marks.insert_at(id, mark);
    }

    #[inline]
    pub(in crate::keyspace) fn take_mark(&mut self, id: u32) -> Option<Mark> {
        let entry = self.entries.get_mut(id);
        if !entry.is_marked() {
            return None;
        }
        entry.set_marked(false);
        Some(self.marks.take(id))
    }

    /// Removes the mark of an entry that is about to be freed. Its flag stays, since nothing reads it after that.
    #[inline(always)]
    pub(super) fn remove_mark(&mut self, id: u32) -> Option<Mark> {
        self.entries.get(id).is_marked().then(|| self.marks.take(id))
    }

    /// The marked entries, with their marks, in an order that depends only on the insertions.
    pub(in crate::keyspace) fn marked(&self) -> impl Iterator<Item = (&Entry, Mark)> {
        let entry = |id| (self.entries.get(id), *self.marks.get(id));
        self.marks.indices_in_used_pages().map(entry).filter(|(entry, _)| entry.is_marked())
    }
}
