//! Small sets: members and scores in turn, in one block of memory.

use crate::values::packed::Packed;
use std::cmp::Ordering;
use std::ops::Deref;

/// The order of a sorted set: by score, then by the bytes of the member.
pub(super) fn order(a: (&[u8], f64), b: (&[u8], f64)) -> Ordering {
    // No score is NaN.
    a.1.partial_cmp(&b.1).unwrap_or(Ordering::Equal).then_with(|| a.0.cmp(b.0))
}

/// A member, or the bytes of a score, as a small set stores them in turn.
pub(super) enum Word<T> {
    Member(T),
    Score([u8; 8]),
}

impl<T> Word<T> {
    pub(super) fn of(score: f64) -> Self {
        Self::Score(stored(score))
    }
}

impl<T: Deref<Target = [u8]>> Deref for Word<T> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Member(member) => member,
            Self::Score(bytes) => bytes,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) place: usize,
    pub(super) rank: usize,
    pub(super) score: f64,
}

pub(super) fn find(packed: &Packed, member: &[u8]) -> Option<Found> {
    let mut iter = packed.iter();
    for rank in 0.. {
        let place = iter.place();
        let there = iter.next()?;
        let score = iter.next()?;
        if there == member {
            return Some(Found { place, rank, score: read_score(score) });
        }
    }
    None
}

pub(super) fn insert_sorted(packed: &mut Packed, member: &[u8], score: f64) {
    let bytes = stored(score);
    let mut iter = packed.iter();
    loop {
        let place = iter.place();
        let (Some(there), Some(its)) = (iter.next(), iter.next()) else { break };
        if order((there, read_score(its)), (member, score)) == Ordering::Greater {
            return packed.replace(place, 0, &[member, &bytes]);
        }
    }
    packed.push(&[member, &bytes]);
}

/// The stored form of a score.
pub(super) fn stored(score: f64) -> [u8; 8] {
    // Redis' listpack stores a whole score as an integer, which has no minus zero.
    (if score == 0.0 { 0.0 } else { score }).to_le_bytes()
}

pub(super) fn read_score(bytes: &[u8]) -> f64 {
    bytes.try_into().map(f64::from_le_bytes).unwrap_or_default()
}
