//! Walks over the entries: over all of them, by SCAN, and at random.

use super::Database;
use super::place::{POSITION_BITS, TABLES, position, table_at};
use crate::keyspace::entry::Entry;
use crate::keyspace::rng::Rng;
use crate::pages::Store;
use crate::time::TimerId;

/// The number of times that a random key is chosen again because it is due.
const RANDOM_TRIES: usize = 100;

impl Database {
    /// All entries, except those that are due at `until`.
    pub(in crate::keyspace) fn entries(&self, until: Option<i64>) -> impl Iterator<Item = &Entry> {
        self.tables.iter().flatten().filter_map(move |&id| self.live(id, until))
    }

    /// The entry of a number, unless it is due at `until`.
    fn live(&self, id: u32, until: Option<i64>) -> Option<&Entry> {
        let entry = self.entries.get(id);
        let due = |until| {
            let is_past = entry.has_deadline() && self.deadlines.deadline(TimerId::at(id)) <= until;
            is_past || Self::is_over(entry, until)
        };
        (!until.is_some_and(due)).then_some(entry)
    }

    /// A random key that is not due at `until`, approximately even. O(1) expected while few keys are due.
    pub(in crate::keyspace) fn random_live(&self, rng: &mut Rng, until: Option<i64>) -> Option<&Entry> {
        let mut tries =
            (0..RANDOM_TRIES).filter_map(|_| self.random(rng)).filter_map(|id| self.live(id, until));
        tries.next().or_else(|| self.entries(until).next())
    }

    pub(super) fn random(&self, rng: &mut Rng) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let start = table_at(rng.below(1 << POSITION_BITS));
        let table =
            (0..TABLES).map(|i| &self.tables[(start + i) % TABLES]).find(|table| !table.is_empty())?;
        table.iter().nth(rng.below(table.len() as u64) as usize).copied()
    }

    /// Visits at least `count` entries not due at `until` in the order of SCAN. Returns the next cursor, 0 at the end.
    pub(in crate::keyspace) fn scan<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        until: Option<i64>,
        hash_of: impl Fn(&[u8]) -> u64,
        visit: &mut dyn FnMut(&'a Entry),
    ) -> u64 {
        let mut seen = 0;
        if cursor >> POSITION_BITS != 0 {
            return 0;
        }
        for table in self.tables.iter().skip(table_at(cursor)) {
            if table.is_empty() {
                continue;
            }
            let mut rest: Vec<(u64, &Entry)> = table
                .iter()
                .filter_map(|&id| self.live(id, until))
                .map(|entry| (position(hash_of(entry.key())), entry))
                .filter(|(position, _)| *position >= cursor)
                .collect();
            rest.sort_unstable_by_key(|(position, _)| *position);
            for (i, (position, entry)) in rest.iter().enumerate() {
                visit(entry);
                seen += 1;
                // Keys at one position are visited together: the cursor cannot tell them apart.
                if seen >= count && rest.get(i + 1).is_none_or(|(next, _)| next != position) {
                    return self.cursor_after(*position);
                }
            }
        }
        0
    }

    fn cursor_after(&self, position: u64) -> u64 {
        if (position + 1) >> POSITION_BITS == 0 { position + 1 } else { 0 }
    }
}
