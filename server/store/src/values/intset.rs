//! A sorted set of integers in one block of memory.

use crate::memory::vec_heap_bytes;
use lockwheel_resp::allocation;

/// Integers in ascending order, of 2, 4 or 8 bytes each. The width is that of the widest integer ever added.
#[derive(Clone, Debug)]
pub(super) struct IntSet {
    bytes: Vec<u8>,
    width: usize,
}

impl IntSet {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), width: 2 }
    }

    /// A set of integers of `width` bytes each, little endian; `None` unless they ascend and are complete. O(n).
    pub(super) fn of_ascending(width: usize, bytes: Vec<u8>) -> Option<Self> {
        let is_whole = [2, 4, 8].contains(&width) && bytes.len().is_multiple_of(width);
        let set = Self { bytes, width };
        (is_whole && set.iter().is_sorted_by(|a, b| a < b)).then_some(set)
    }

    /// The width and the bytes of the integers.
    pub(super) fn parts(&self) -> (usize, &[u8]) {
        (self.width, &self.bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// Bytes of heap that it holds. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        vec_heap_bytes(&self.bytes)
    }

    /// The integer with this rank.
    pub(super) fn get(&self, index: usize) -> Option<i64> {
        let start = index.checked_mul(self.width)?;
        read(self.bytes.get(start..start + self.width)?)
    }

    /// All integers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.bytes.chunks_exact(self.width).filter_map(read)
    }

    /// Whether `value` is in the set. O(log n).
    pub(super) fn contains(&self, value: i64) -> bool {
        self.search(value).is_ok()
    }

    /// Adds `value`. Returns false if it was there. O(n).
    pub(super) fn add(&mut self, value: i64) -> bool {
        let Err(index) = self.search(value) else { return false };
        let width = width_of(value);
        if width > self.width {
            self.widen(width);
        }
        let (start, end) = (index * self.width, self.bytes.len());
        allocation::reserve_exact(&mut self.bytes, self.width);
        self.bytes.resize(end + self.width, 0);
        self.bytes.copy_within(start..end, start + self.width);
        self.bytes[start..start + self.width].copy_from_slice(&value.to_le_bytes()[..self.width]);
        true
    }

    /// Removes `value`. Returns false if it was not there. O(n).
    pub(super) fn remove(&mut self, value: i64) -> bool {
        let Ok(index) = self.search(value) else { return false };
        let start = index * self.width;
        self.bytes.drain(start..start + self.width);
        allocation::shrink(&mut self.bytes);
        true
    }

    /// The rank of `value`, or as an error the rank that it would have.
    fn search(&self, value: i64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle) {
                Some(there) if there == value => return Ok(middle),
                Some(there) if there < value => low = middle + 1,
                _ => high = middle,
            }
        }
        Err(low)
    }

    fn widen(&mut self, width: usize) {
        let mut bytes = Vec::new();
        allocation::reserve_exact(&mut bytes, (self.len() + 1) * width);
        for value in self.iter() {
            bytes.extend_from_slice(&value.to_le_bytes()[..width]);
        }
        *self = Self { bytes, width };
    }
}

/// The width that `value` needs in an [`IntSet`], in bytes.
fn width_of(value: i64) -> usize {
    if i16::try_from(value).is_ok() {
        2
    } else if i32::try_from(value).is_ok() {
        4
    } else {
        8
    }
}

fn read(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        2 => bytes.try_into().ok().map(|bytes| i64::from(i16::from_le_bytes(bytes))),
        4 => bytes.try_into().ok().map(|bytes| i64::from(i32::from_le_bytes(bytes))),
        _ => bytes.try_into().ok().map(i64::from_le_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn edges() -> impl Strategy<Value = i64> {
        let around = |edge: i64| (-2_i64..=2).prop_map(move |off| edge.saturating_add(off));
        prop_oneof![
            around(0),
            around(i64::from(i16::MAX)),
            around(i64::from(i16::MIN)),
            around(i64::from(i32::MAX)),
            around(i64::from(i32::MIN)),
            around(i64::MAX),
            around(i64::MIN),
            -300_i64..300,
        ]
    }

    proptest! {
        #[test]
        fn an_intset_is_a_sorted_set(steps in prop::collection::vec((0_u8..4, edges()), 0..100)) {
            let (mut set, mut model) = (IntSet::new(), BTreeSet::new());
            for (op, value) in steps {
                if op == 0 {
                    prop_assert_eq!(set.remove(value), model.remove(&value));
                } else {
                    prop_assert_eq!(set.add(value), model.insert(value));
                }
                prop_assert!(set.iter().eq(model.iter().copied()));
                prop_assert_eq!(set.contains(value), model.contains(&value));
                prop_assert_eq!(set.len(), model.len());
                prop_assert_eq!(set.get(model.len()), None);
                prop_assert_eq!(set.get(0), model.first().copied());
            }
        }
    }
}
