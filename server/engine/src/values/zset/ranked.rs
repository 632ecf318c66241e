//! The large form of a sorted set: a table by member, and a tree by score.

use super::tree::{Item, Tree};
use crate::memory::block;
use crate::values::table::{Keyed, Table};
use std::cmp::Ordering;

/// A member and its score.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    member: Box<[u8]>,
    score: f64,
}

impl Keyed for Scored {
    fn key(&self) -> &[u8] {
        &self.member
    }

    fn heap_bytes(&self) -> usize {
        block(self.member.len())
    }
}

impl Scored {
    /// Member and score.
    pub(super) fn pair(&self) -> (&[u8], f64) {
        (&self.member, self.score)
    }
}

/// Members by name and by rank.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    table: Table<Scored>,
    tree: Tree,
}

impl Ranked {
    /// An empty set with room for `capacity` members.
    pub(super) fn with_capacity(capacity: usize, seed: u64) -> Self {
        Self { table: Table::with_capacity(capacity, seed), tree: Tree::new() }
    }

    /// The set of these members and scores, which are distinct and in order. O(members).
    pub(super) fn of_sorted<M: AsRef<[u8]>>(pairs: &[(M, f64)], seed: u64) -> Self {
        let entries: Vec<Scored> = pairs
            .iter()
            .map(|(member, score)| Scored { member: member.as_ref().into(), score: *score })
            .collect();
        // The table checks that positions fit 32 bits.
        let items: Vec<Item> = pairs
            .iter()
            .enumerate()
            .map(|(position, pair)| Item { score: pair.1, position: position as u32 })
            .collect();
        Self { table: Table::of_distinct(entries, seed), tree: Tree::of_sorted(&items) }
    }

    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.tree.len()
    }

    /// Bytes of heap that it holds. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        self.table.heap_bytes() + self.tree.heap_bytes()
    }

    /// The members by position in the table, for random picks and scans.
    pub(super) fn table(&self) -> &Table<Scored> {
        &self.table
    }

    /// The score of `member`. O(1).
    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        Some(self.table.get(member)?.score)
    }

    /// How many members come before `member`. O(log n).
    pub(super) fn rank(&self, member: &[u8]) -> Option<usize> {
        let before = compare(self.table.entries(), member, self.score(member)?);
        Some(self.tree.partition_point(&|item| before(item) == Ordering::Less))
    }

    /// Gives `member` a score; returns the one it had. O(log n).
    pub(super) fn insert(&mut self, member: &[u8], score: f64) -> Option<f64> {
        match self.table.insert_with(member, || Scored { member: member.into(), score }) {
            Ok(position) => {
                self.link(position, member, score);
                None
            }
            Err(position) => {
                let old = self.table.entries()[position].score;
                if old != score {
                    self.unlink(member, old);
                    self.table.change(position, |scored| scored.score = score);
                    self.link(position, member, score);
                }
                Some(old)
            }
        }
    }

    /// Removes `member`; returns its score. O(log n).
    pub(super) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let position = self.table.find(member)?;
        Some(self.remove_at(position).score)
    }

    /// Removes and returns the member with this rank. O(log n).
    pub(super) fn take(&mut self, rank: usize) -> Option<(Box<[u8]>, f64)> {
        let item = self.tree.get(rank)?;
        let Scored { member, score } = self.remove_at(item.position as usize);
        Some((member, score))
    }

    /// How many members satisfy `below`, which holds for the first ones in order and for none after them.
    pub(super) fn partition_point(&self, below: impl Fn(&[u8], f64) -> bool) -> usize {
        self.tree
            .partition_point(&|item| below(&self.table.entries()[item.position as usize].member, item.score))
    }

    /// The run of members that has the one with this rank, and the rank of its first one.
    pub(super) fn run_at(&self, rank: usize) -> (&[Item], usize) {
        self.tree.run_at(rank)
    }

    /// The member of an item of the tree.
    pub(super) fn pair_of(&self, item: Item) -> (&[u8], f64) {
        (&self.table.entries()[item.position as usize].member, item.score)
    }

    fn link(&mut self, position: usize, member: &[u8], score: f64) {
        let entries = self.table.entries();
        // The table keeps positions within 32 bits.
        self.tree.insert(Item { score, position: position as u32 }, &compare(entries, member, score));
    }

    fn unlink(&mut self, member: &[u8], score: f64) {
        self.tree.remove(&compare(self.table.entries(), member, score));
    }

    fn remove_at(&mut self, position: usize) -> Scored {
        let entries = self.table.entries();
        let Scored { member, score } = &entries[position];
        self.tree.remove(&compare(entries, member, *score));
        // The last entry is about to move to that position.
        if position + 1 < entries.len() {
            let Scored { member, score } = &entries[entries.len() - 1];
            self.tree.relabel(&compare(entries, member, *score), position as u32);
        }
        self.table.remove_at(position)
    }
}

/// Compares items with a score and a member. Members are compared only where scores are equal.
fn compare<'a>(entries: &'a [Scored], member: &'a [u8], score: f64) -> impl Fn(Item) -> Ordering + 'a {
    move |item| match item.score.partial_cmp(&score) {
        Some(Ordering::Equal) | None => entries[item.position as usize].member[..].cmp(member),
        Some(different) => different,
    }
}
