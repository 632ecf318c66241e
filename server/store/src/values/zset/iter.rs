//! Iteration over a sorted set from both ends.

use super::ranked::Ranked;
use super::small::read_score;
use super::tree::Item;
use crate::values::packed::{self, Packed};
use smallvec::SmallVec;
use std::ops::Range;

/// The members and scores of a [`ZSet`](super::ZSet), from both ends.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    ranks: Range<usize>,
    form: Form<'a>,
}

#[derive(Clone, Debug)]
enum Form<'a> {
    Packed {
        packed: &'a Packed,
        front: packed::Iter<'a>,
        /// The places of the remaining members, in order. Computed at the first call from the back.
        places: Option<SmallVec<[usize; 16]>>,
    },
    Ranked {
        ranked: &'a Ranked,
        front: Run<'a>,
        back: Run<'a>,
    },
}

/// A leaf of the tree, and the rank of its first item.
type Run<'a> = (&'a [Item], usize);

impl<'a> Iter<'a> {
    pub(super) fn packed(packed: &'a Packed, ranks: Range<usize>) -> Self {
        let front = packed.iter_at(packed.place_of(ranks.start * 2));
        Self { ranks, form: Form::Packed { packed, front, places: None } }
    }

    pub(super) fn ranked(ranked: &'a Ranked, ranks: Range<usize>) -> Self {
        Self { ranks, form: Form::Ranked { ranked, front: (&[], 0), back: (&[], 0) } }
    }
}

impl<'a> Iter<'a> {
    /// The next member for which `wanted`, which sees only the score, returns a result.
    pub(super) fn next_wanted<T>(
        &mut self,
        wanted: &mut impl FnMut(f64) -> Option<T>,
    ) -> Option<(&'a [u8], f64, T)> {
        for rank in self.ranks.by_ref() {
            let found = match &mut self.form {
                Form::Packed { front, .. } => {
                    let (member, score) = pair(front)?;
                    wanted(score).map(|made| (member, score, made))
                }
                Form::Ranked { ranked, front, .. } => {
                    let item = item(ranked, front, rank)?;
                    let score = ranked.score_of(item);
                    wanted(score).map(|made| (ranked.pair_of(item).0, score, made))
                }
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// The item with this rank, from the current leaf if that has it.
fn item<'a>(ranked: &'a Ranked, run: &mut Run<'a>, rank: usize) -> Option<Item> {
    if rank < run.1 || rank - run.1 >= run.0.len() {
        *run = ranked.run_at(rank);
    }
    run.0.get(rank - run.1).copied()
}

/// The next member and score of a small set.
fn pair<'a>(iter: &mut packed::Iter<'a>) -> Option<(&'a [u8], f64)> {
    Some((iter.next()?, read_score(iter.next()?)))
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], f64);

    fn next(&mut self) -> Option<Self::Item> {
        let rank = self.ranks.next()?;
        match &mut self.form {
            Form::Packed { front, .. } => pair(front),
            Form::Ranked { ranked, front, .. } => item(ranked, front, rank).map(|item| ranked.pair_of(item)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranks.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let left = self.ranks.len();
        let rank = self.ranks.next_back()?;
        match &mut self.form {
            Form::Packed { packed, front, places } => {
                let places = places.get_or_insert_with(|| {
                    let mut iter = front.clone();
                    (0..left).map(|_| (iter.place(), pair(&mut iter)).0).collect()
                });
                // Members that the front has passed stay in front, so the last place is always that of the back.
                pair(&mut packed.iter_at(places.pop()?))
            }
            Form::Ranked { ranked, back, .. } => item(ranked, back, rank).map(|item| ranked.pair_of(item)),
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}
