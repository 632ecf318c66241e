//! The large form of a sorted set: a table by member, and a tree by score.

use super::steps::Steps;
use super::tree::{Item, Tree};
use crate::memory::block;
use crate::values::table::{Keyed, Table};
use lockwheel_resp::allocation::{self, SmallBlocks};
use std::cmp::Ordering;

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

/// Members by name and by rank. All scores can be shifted at once: the real score is that in the table and the tree
/// plus `shift`. Those of all members behind a position are shifted as `steps` records.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    table: Table<Scored>,
    tree: Tree,
    shift: f64,
    /// The additional shifts by position. `None` while all scores have the same shift.
    steps: Option<Box<Steps>>,
    /// Whether all scores are whole numbers that can be added to each other without rounding.
    is_whole: bool,
}

/// The shift that leaves any score as it is, including zero and minus zero.
const NO_SHIFT: f64 = -0.0;

/// Whether sums of such numbers are not rounded. False for minus zero, which a sum would not preserve.
#[inline]
fn is_whole(score: f64) -> bool {
    const MAX_EXACT: f64 = (1_u64 << 50) as f64;
    // All numbers between these two are whole numbers, so that the sum is rounded to one.
    const LARGE: f64 = (3_u64 << 51) as f64;
    score.abs() <= MAX_EXACT && (score + LARGE) - LARGE == score && score.to_bits() != (-0.0_f64).to_bits()
}

impl Ranked {
    /// An empty set with room for `capacity` members.
    pub(super) fn with_capacity(capacity: usize, seed: u64) -> Self {
        let (table, tree) = (Table::with_capacity(capacity, seed), Tree::new());
        Self { table, tree, shift: NO_SHIFT, steps: None, is_whole: true }
    }

    /// The set of these distinct members and scores in order. Unwinds if memory is short. O(members).
    pub(super) fn of_sorted<M: AsRef<[u8]>>(pairs: &[(M, f64)], seed: u64) -> Self {
        let mut blocks = SmallBlocks::default();
        let entries = allocation::collect(pairs.iter().map(|(member, score)| {
            blocks.count(member.as_ref().len());
            Scored { member: allocation::copy(member.as_ref()), score: *score }
        }));
        // The table checks that positions fit 32 bits.
        let items = pairs.iter().enumerate();
        let items = items.map(|(position, pair)| Item { score: pair.1, position: position as u32 });
        let items = allocation::collect(items);
        let table = Table::of_distinct(entries, seed);
        allocation::check(2 * size_of_val(&*items)).unwrap_or_else(|error| error.unwind());
        let tree = Tree::of_sorted(&items);
        let is_whole = pairs.iter().all(|pair| is_whole(pair.1));
        Self { table, tree, shift: NO_SHIFT, steps: None, is_whole }
    }

    /// Adds `by` to all scores, which stay in order; returns whether that was possible without rounding a sum. O(1).
    pub(super) fn shift(&mut self, by: f64) -> bool {
        let shift = self.shift + by;
        let is_possible = self.is_whole && is_whole(by) && is_whole(shift);
        if is_possible {
            self.shift = if shift == 0.0 { NO_SHIFT } else { shift };
        }
        is_possible
    }

    /// Removes a member, and adds `by`, which must be negative, to the scores of all members behind it. Returns the
    /// member's score and the number of the members behind it. Returns `None` if the order would change or a sum would
    /// be rounded. O(log n), but O(n) once in as many calls as there may be steps.
    pub(super) fn remove_and_shift(&mut self, member: &[u8], by: f64) -> Option<(f64, usize)> {
        let rank = self.rank(member)?;
        let behind = self.len() - rank - 1;
        let kept = self.tree.get(rank)?.score;
        if let Some(next) = self.tree.get(rank + 1) {
            let before = rank.checked_sub(1).and_then(|rank| self.tree.get(rank));
            let is_behind = |before| self.score_of(next) + by > self.score_of(before);
            let total = self.shift + by + self.steps.as_deref().map_or(0.0, Steps::last);
            let is_possible = by <= 0.0 && self.is_whole && is_whole(by) && is_whole(total);
            if !is_possible || next.score <= kept || !before.is_none_or(is_behind) {
                return None;
            }
        }
        let score = self.remove(member)?;
        if behind > 0 {
            if self.steps.as_deref().is_some_and(Steps::is_full) {
                self.level();
                // The steps are gone: the shift begins at another score now.
                let above = rank.checked_sub(1).and_then(|rank| self.tree.get(rank));
                self.shift_above(above.map_or(f64::NEG_INFINITY, |before| before.score), by);
            } else {
                self.shift_above(kept, by);
            }
        }
        Some((score, behind))
    }

    fn shift_above(&mut self, kept: f64, by: f64) {
        self.steps.get_or_insert_default().add(kept, by);
    }

    /// Applies the steps to the scores, and removes them. O(n log steps).
    #[cold]
    fn level(&mut self) {
        let Some(steps) = self.steps.take() else { return };
        let level = |score: f64| score + steps.at(score);
        self.table.change_all(|scored| scored.score = level(scored.score));
        self.tree.change_scores(&level);
    }

    /// Applies the steps and the shift to the scores, and removes both. O(n log n).
    #[cold]
    fn settle(&mut self) {
        self.level();
        let scores = |scored: &Scored| (scored.member.clone(), scored.score + self.shift);
        let pairs: Vec<(Box<[u8]>, f64)> = self.table.entries().iter().map(scores).collect();
        self.shift = NO_SHIFT;
        for (member, score) in pairs {
            self.insert(&member, score);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tree.len()
    }

    /// Bytes of heap that it holds. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        let of_steps = |steps: &Steps| block(size_of::<Steps>()) + steps.heap_bytes();
        self.table.heap_bytes() + self.tree.heap_bytes() + self.steps.as_deref().map_or(0, of_steps)
    }

    /// The members by position in the table, for random picks and scans.
    pub(super) fn table(&self) -> &Table<Scored> {
        &self.table
    }

    /// Member and score of an entry of the table.
    pub(super) fn pair<'a>(&self, scored: &'a Scored) -> (&'a [u8], f64) {
        (&scored.member, self.meant(scored.score))
    }

    /// The score of `member`. O(1).
    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        Some(self.meant(self.table.get(member)?.score))
    }

    /// The number of members before `member`. O(log n).
    pub(super) fn rank(&self, member: &[u8]) -> Option<usize> {
        let before = compare(self.table.entries(), member, self.table.get(member)?.score);
        Some(self.tree.partition_point(&|item| before(item) == Ordering::Less))
    }

    /// Sets the score of `member`; returns its previous score. O(log n).
    pub(super) fn insert(&mut self, member: &[u8], score: f64) -> Option<f64> {
        if !is_whole(score) {
            self.is_whole = false;
            if self.shift != 0.0 || self.steps.is_some() {
                self.settle();
            }
        }
        // Without a shift, a minus zero stays as it is.
        let mut kept = if self.shift == 0.0 { score } else { score - self.shift };
        if self.steps.is_some() {
            kept = self.kept_behind_all(score).unwrap_or_else(|| {
                self.level();
                kept
            });
        }
        let score = kept;
        match self.table.insert_with(member, || Scored { member: allocation::copy(member), score }) {
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
                Some(self.meant(old))
            }
        }
    }

    /// Removes `member`; returns its score. O(log n).
    pub(super) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let position = self.table.find(member)?;
        let kept = self.remove_at(position).score;
        Some(self.meant(kept))
    }

    /// Removes and returns the member with this rank. O(log n).
    pub(super) fn take(&mut self, rank: usize) -> Option<(Box<[u8]>, f64)> {
        let item = self.tree.get(rank)?;
        let Scored { member, score } = self.remove_at(item.position as usize);
        Some((member, self.meant(score)))
    }

    /// The number of members that satisfy `below`, which must hold for the first in order and for none after.
    pub(super) fn partition_point(&self, below: impl Fn(&[u8], f64) -> bool) -> usize {
        self.tree.partition_point(&|item| {
            let (member, score) = self.pair_of(item);
            below(member, score)
        })
    }

    /// The leaf that has the member with this rank, and the rank of its first member.
    pub(super) fn run_at(&self, rank: usize) -> (&[Item], usize) {
        self.tree.run_at(rank)
    }

    pub(super) fn score_of(&self, item: Item) -> f64 {
        self.meant(item.score)
    }

    /// The real score of a stored score.
    #[inline]
    fn meant(&self, kept: f64) -> f64 {
        match &self.steps {
            None => kept + self.shift,
            Some(steps) => kept + self.shift + steps.at(kept),
        }
    }

    /// The stored score for a score behind all others, if there are steps.
    fn kept_behind_all(&self, score: f64) -> Option<f64> {
        let last = self.tree.len().checked_sub(1).and_then(|rank| self.tree.get(rank));
        if last.is_some_and(|last| self.score_of(last) >= score) {
            return None;
        }
        let kept = self.steps.as_deref()?.above_all(|total| score - self.shift - total)?;
        last.is_none_or(|last| last.score < kept).then_some(kept)
    }

    /// The member and the score of an item of the tree.
    pub(super) fn pair_of(&self, item: Item) -> (&[u8], f64) {
        (&self.table.entries()[item.position as usize].member, self.score_of(item))
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
