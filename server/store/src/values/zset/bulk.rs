//! Construction of a sorted set from all its members at once.

use super::ranked::Ranked;
use super::small::{order, stored};
use super::{Form, ZSet};
use crate::values::encodings::Encodings;
use crate::values::packed::{Builder, Packed, size};

/// Bytes of a score in a small set.
const SCORE: usize = size_of::<f64>();

/// Sorts members with their scores into the order of a sorted set. No score may be NaN. O(n log n).
pub fn sort<M: AsRef<[u8]>>(pairs: &mut [(M, f64)]) {
    pairs.sort_unstable_by(|a, b| order((a.0.as_ref(), a.1), (b.0.as_ref(), b.1)));
}

impl ZSet {
    /// The set of these distinct members, in the encoding that their number and lengths allow. Redis chooses it for the
    /// set that a command computes and stores. The members must be in the order of [`sort`]. O(n).
    #[must_use]
    pub fn of_sorted<M: AsRef<[u8]>>(pairs: &[(M, f64)], enc: &Encodings) -> Self {
        debug_assert!(pairs.is_sorted_by(|a, b| order((a.0.as_ref(), a.1), (b.0.as_ref(), b.1)).is_lt()));
        if pairs.is_empty() {
            return Self::new();
        }
        let lengths = pairs.iter().map(|pair| pair.0.as_ref().len());
        let bytes: usize = lengths.clone().map(|len| size(len) + size(SCORE)).sum();
        let is_small = pairs.len() <= enc.zset_max_listpack_entries
            && lengths.max().is_some_and(|longest| longest <= enc.zset_max_listpack_value)
            && Packed::may_hold(bytes);
        Self(if is_small {
            Form::Packed(packed(pairs, bytes))
        } else {
            Form::Ranked(Box::new(Ranked::of_sorted(pairs, enc.seed)))
        })
    }
}

fn packed<M: AsRef<[u8]>>(pairs: &[(M, f64)], bytes: usize) -> Packed {
    let mut builder = Builder::new(pairs.len() * 2, bytes);
    for (member, score) in pairs {
        builder.push(member.as_ref());
        builder.push(&stored(*score));
    }
    builder.finish()
}
