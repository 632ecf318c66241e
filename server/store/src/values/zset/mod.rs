//! The sorted set value.

mod accumulator;
mod bulk;
mod iter;
mod ranked;
mod small;
mod steps;
#[cfg(test)]
mod tests;
mod tree;

use super::encodings::{Encoding, Encodings};
use super::packed::Packed;
use super::table::are_distinct;
use crate::memory::block;
pub use accumulator::Accumulator;
pub use bulk::sort;
pub use iter::Iter;
use lockwheel_resp::allocation;
use ranked::Ranked;
use small::{Word, find, insert_sorted, order};
use std::cmp::Ordering;
use std::ops::{Bound, Deref, Range};

/// Distinct members in order of their scores, then of their bytes. One block of memory while the set is small, else a
/// table and a tree. Scores may be infinite, but callers refuse NaN. Zero and minus zero are equal.
#[derive(Clone, Debug, Default)]
pub struct ZSet(Form);

#[derive(Clone, Debug)]
enum Form {
    /// Members and scores in turn, in order. A score has 8 bytes, little endian.
    Packed(Packed),
    Ranked(Box<Ranked>),
}

impl Default for Form {
    fn default() -> Self {
        Self::Packed(Packed::default())
    }
}

impl ZSet {
    /// An empty sorted set. Nothing is allocated.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A small sorted set of these members and scores, with any number and lengths. Returns `None` if they are not in
    /// order or a member repeats. The caller must have checked that they take less than half a gigabyte. O(members).
    #[must_use]
    pub fn small<T: Deref<Target = [u8]>>(
        pairs: impl IntoIterator<Item = (T, f64)>,
        enc: &Encodings,
    ) -> Option<Self> {
        let words = pairs.into_iter().flat_map(|(member, score)| [Word::Member(member), Word::of(score)]);
        let packed = Packed::collect(words);
        let set = Self(Form::Packed(packed));
        let in_order = set.iter().is_sorted_by(|a, b| order(*a, *b) == Ordering::Less);
        let distinct = || are_distinct(set.iter().map(|(member, _)| member), enc.seed);
        (in_order && distinct()).then_some(set)
    }

    /// An empty large sorted set, with room for some of the `members` that it will get.
    #[must_use]
    pub fn large(members: usize, enc: &Encodings) -> Self {
        Self(Form::Ranked(Box::new(Ranked::with_capacity(members, enc.seed))))
    }

    /// Announces that one command will add `members` members, the longest of `longest` bytes. If they are too many or
    /// too long for a small set, the set becomes large at once, as in Redis 7.2.
    pub fn expect(&mut self, members: usize, longest: usize, enc: &Encodings) {
        if members > enc.zset_max_listpack_entries || longest > enc.zset_max_listpack_value {
            self.enlarge(members, enc.seed);
        }
    }

    /// Number of members. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Packed(packed) => packed.len() / 2,
            Form::Ranked(ranked) => ranked.len(),
        }
    }

    /// Bytes of heap that it holds. O(1).
    #[must_use]
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Packed(packed) => packed.heap_bytes(),
            Form::Ranked(ranked) => block(size_of::<Ranked>()) + ranked.heap_bytes(),
        }
    }

    /// The length of its single block of memory, while the set is small.
    #[inline]
    pub(super) fn packed_len(&self) -> Option<usize> {
        match &self.0 {
            Form::Packed(packed) => Some(packed.block_len()),
            Form::Ranked(_) => None,
        }
    }

    /// Whether there is no member. An empty sorted set is not stored: its key is deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The score of `member`. O(members) while the set is small, else O(1).
    #[must_use]
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        match &self.0 {
            Form::Packed(packed) => Some(find(packed, member)?.score),
            Form::Ranked(ranked) => ranked.score(member),
        }
    }

    /// Sets the score of `member`; returns its previous score, or `None` if the member is new. A score equal to the
    /// previous one changes nothing, not even the sign of a zero. O(members) while the set is small, else O(log n).
    pub fn insert(&mut self, member: &[u8], score: f64, enc: &Encodings) -> Option<f64> {
        debug_assert!(!score.is_nan(), "callers refuse NaN");
        if let Form::Packed(packed) = &mut self.0 {
            let old = find(packed, member);
            if let Some(old) = old {
                if old.score != score {
                    packed.replace(old.place, 2, &[]);
                    insert_sorted(packed, member, score);
                }
                return Some(old.score);
            }
            if packed.len() / 2 < enc.zset_max_listpack_entries
                && member.len() <= enc.zset_max_listpack_value
                && packed.has_room(member.len() + 8)
            {
                insert_sorted(packed, member, score);
                return None;
            }
        }
        self.enlarge(1, enc.seed).insert(member, score)
    }

    /// Adds `by` to all scores, except where the sum is NaN (infinities with different signs). O(members) while the set
    /// is small, else O(1) if all scores are whole numbers.
    pub fn shift(&mut self, by: f64, enc: &Encodings) {
        if let Form::Ranked(ranked) = &mut self.0
            && ranked.shift(by)
        {
            return;
        }
        let shifted = self.iter().map(|(member, score)| (Vec::from(member), score + by));
        let members: Vec<(Vec<u8>, f64)> = shifted.collect();
        if matches!(self.0, Form::Packed(_))
            && members.iter().all(|(_, score)| !score.is_nan())
            && let Some(small) = Self::small(members.iter().map(|(member, score)| (&**member, *score)), enc)
        {
            *self = small;
            return;
        }
        for (member, score) in members.into_iter().filter(|(_, score)| !score.is_nan()) {
            self.insert(&member, score, enc);
        }
    }

    /// Removes `member`; returns its score. O(members) while the set is small, else O(log n).
    pub fn remove(&mut self, member: &[u8]) -> Option<f64> {
        match &mut self.0 {
            Form::Packed(packed) => {
                let found = find(packed, member)?;
                packed.replace(found.place, 2, &[]);
                Some(found.score)
            }
            Form::Ranked(ranked) => ranked.remove(member),
        }
    }

    /// Removes `member`, and adds `by`, which must be negative, to the scores of all members behind it. Returns its
    /// score and the number of the members behind it. Returns `None`, with no change, if this is not possible at once:
    /// in a small set, without the member, if the next member has the same score, if the order would change, or if a
    /// sum would be rounded. O(log n) amortised.
    pub fn remove_and_shift(&mut self, member: &[u8], by: f64) -> Option<(f64, usize)> {
        match &mut self.0 {
            Form::Packed(_) => None,
            Form::Ranked(ranked) => ranked.remove_and_shift(member, by),
        }
    }

    /// The rank of `member` from the lowest score, which has rank 0. O(members) while the set is small, else O(log n).
    #[must_use]
    pub fn rank(&self, member: &[u8]) -> Option<usize> {
        match &self.0 {
            Form::Packed(packed) => Some(find(packed, member)?.rank),
            Form::Ranked(ranked) => ranked.rank(member),
        }
    }

    /// The member with this rank, and its score. O(rank) while the set is small, else O(log n).
    #[must_use]
    pub fn nth(&self, rank: usize) -> Option<(&[u8], f64)> {
        self.range(rank..rank.saturating_add(1)).next()
    }

    /// All members and scores, from both ends.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        self.range(0..self.len())
    }

    /// The members with these ranks, from both ends. Ignores ranks beyond the end.
    #[must_use]
    pub fn range(&self, ranks: Range<usize>) -> Iter<'_> {
        let end = ranks.end.min(self.len());
        let ranks = ranks.start.min(end)..end;
        match &self.0 {
            Form::Packed(packed) => Iter::packed(packed, ranks),
            Form::Ranked(ranked) => Iter::ranked(ranked, ranks),
        }
    }

    /// The ranks of the members with scores between two bounds. The range is empty if there are none; its length is
    /// their count. O(members) while the set is small, else O(log n).
    #[must_use]
    pub fn ranks_by_score(&self, min: Bound<f64>, max: Bound<f64>) -> Range<usize> {
        let start = match min {
            Bound::Included(min) => self.partition_point(|_, score| score < min),
            Bound::Excluded(min) => self.partition_point(|_, score| score <= min),
            Bound::Unbounded => 0,
        };
        let end = match max {
            Bound::Included(max) => self.partition_point(|_, score| score <= max),
            Bound::Excluded(max) => self.partition_point(|_, score| score < max),
            Bound::Unbounded => self.len(),
        };
        start..end.max(start)
    }

    /// The ranks of the members between two bounds of their bytes, if all scores of the set are equal. Otherwise the
    /// ranks are arbitrary between 0 and the length, as in Redis.
    #[must_use]
    pub fn ranks_by_member(&self, min: Bound<&[u8]>, max: Bound<&[u8]>) -> Range<usize> {
        let start = match min {
            Bound::Included(min) => self.partition_point(|member, _| member < min),
            Bound::Excluded(min) => self.partition_point(|member, _| member <= min),
            Bound::Unbounded => 0,
        };
        let end = match max {
            Bound::Included(max) => self.partition_point(|member, _| member <= max),
            Bound::Excluded(max) => self.partition_point(|member, _| member < max),
            Bound::Unbounded => self.len(),
        };
        start..end.max(start)
    }

    /// Removes and returns the member with the lowest score.
    pub fn pop_min(&mut self) -> Option<(Box<[u8]>, f64)> {
        self.take(0)
    }

    /// Removes and returns the member with the highest score.
    pub fn pop_max(&mut self) -> Option<(Box<[u8]>, f64)> {
        self.take(self.len().checked_sub(1)?)
    }

    /// Removes the members with these ranks; returns their number.
    pub fn remove_range(&mut self, ranks: Range<usize>) -> usize {
        let count = ranks.end.min(self.len()).saturating_sub(ranks.start);
        match &mut self.0 {
            _ if count == 0 => {}
            Form::Packed(packed) => packed.replace(packed.place_of(ranks.start * 2), count * 2, &[]),
            Form::Ranked(ranked) => {
                for _ in 0..count {
                    ranked.take(ranks.start);
                }
            }
        }
        count
    }

    /// The member with this index in an arbitrary order. O(index) while the set is small, else O(1).
    #[must_use]
    pub fn pick(&self, index: usize) -> Option<(&[u8], f64)> {
        match &self.0 {
            Form::Packed(_) => self.nth(index),
            Form::Ranked(ranked) => Some(ranked.pair(ranked.table().entries().get(index)?)),
        }
    }

    /// The members with scores from `from` to below `to` for which `wanted` returns a result. `wanted` sees only the
    /// scores, so refused members cost little. O(members) while the set is small, else O(log n + members between).
    pub fn search<T>(
        &self,
        from: f64,
        to: f64,
        mut wanted: impl FnMut(f64) -> Option<T>,
    ) -> impl Iterator<Item = (&[u8], f64, T)> {
        let mut members = self.range(self.ranks_by_score(Bound::Included(from), Bound::Excluded(to)));
        std::iter::from_fn(move || members.next_wanted(&mut wanted))
    }

    /// Visits about `count` members from `cursor` on; returns the next cursor. 0 starts and ends. Every member that
    /// exists throughout a scan is visited. A small set is visited whole, in order, as in Redis.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(&[u8], f64)) -> u64 {
        match &self.0 {
            Form::Packed(_) => {
                self.iter().for_each(|(member, score)| visit(member, score));
                0
            }
            Form::Ranked(ranked) => ranked.table().scan(cursor, count, |scored| {
                let (member, score) = ranked.pair(scored);
                visit(member, score);
            }),
        }
    }

    /// The representation, named as by OBJECT ENCODING.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match &self.0 {
            Form::Packed(_) => Encoding::Listpack,
            Form::Ranked(_) => Encoding::Skiplist,
        }
    }

    /// The number of members that satisfy `below`, which must hold for the first in order and for none after.
    fn partition_point(&self, below: impl Fn(&[u8], f64) -> bool) -> usize {
        match &self.0 {
            Form::Packed(_) => self.iter().take_while(|(member, score)| below(member, *score)).count(),
            Form::Ranked(ranked) => ranked.partition_point(below),
        }
    }

    fn take(&mut self, rank: usize) -> Option<(Box<[u8]>, f64)> {
        if let Form::Ranked(ranked) = &mut self.0 {
            return ranked.take(rank);
        }
        let (member, score) = self.nth(rank)?;
        let taken = (allocation::copy(member), score);
        self.remove_range(rank..rank + 1);
        Some(taken)
    }

    /// The large form, built from the small one if necessary, with room for `more` members.
    fn enlarge(&mut self, more: usize, seed: u64) -> &mut Ranked {
        if let Form::Packed(packed) = &self.0 {
            let mut ranked = Ranked::with_capacity(packed.len() / 2 + more, seed);
            for (member, score) in self.iter() {
                ranked.insert(member, score);
            }
            self.0 = Form::Ranked(Box::new(ranked));
        }
        match &mut self.0 {
            Form::Ranked(ranked) => ranked,
            Form::Packed(_) => unreachable!("made so above"),
        }
    }
}

impl<'a> IntoIterator for &'a ZSet {
    type Item = (&'a [u8], f64);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
