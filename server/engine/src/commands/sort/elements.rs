//! The elements that are sorted, copied into one block.

use lockwheel_resp::allocation;
use lockwheel_store::values::{List, Set, Value, ZSet};
use std::ops::Range;

/// The bytes for each element that are allocated from the start.
const USUAL: usize = 8;
/// The most bytes of overhead of an element in a list.
const AROUND: usize = 16;

/// Texts by number.
#[derive(Debug, Default)]
pub(super) struct Elements {
    bytes: Vec<u8>,
    /// The place of each text among the bytes.
    places: Vec<Range<usize>>,
}

impl Elements {
    pub(super) fn push(&mut self, element: &[u8]) {
        let start = self.bytes.len();
        allocation::append(&mut self.bytes, element);
        allocation::push(&mut self.places, start..self.bytes.len());
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The bytes that copies of all texts take in a list.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.len() * AROUND
    }

    /// The text of this index, which must exist.
    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.places[index].clone()]
    }

    /// Reorders the texts. `order` has each index once.
    pub(super) fn reorder(&mut self, order: impl Iterator<Item = usize>) {
        self.places = order.map(|index| self.places[index].clone()).collect();
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Elements {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let texts = texts.into_iter();
        let (count, _) = texts.size_hint();
        let mut elements =
            Elements { bytes: Vec::with_capacity(count * USUAL), places: Vec::with_capacity(count) };
        texts.for_each(|text| elements.push(text.as_ref()));
        elements
    }
}

/// The type of the value that holds the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    List,
    Set,
    ZSet,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    None,
    List(&'a List),
    Set(&'a Set),
    ZSet(&'a ZSet),
}

impl<'a> Source<'a> {
    /// The value as a source, if it has elements.
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::List(list) => Some(Source::List(list)),
            Value::Set(set) => Some(Source::Set(set)),
            Value::ZSet(zset) => Some(Source::ZSet(zset)),
            _ => None,
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Source::None => Kind::None,
            Source::List(_) => Kind::List,
            Source::Set(_) => Kind::Set,
            Source::ZSet(_) => Kind::ZSet,
        }
    }

    /// The number of elements. O(1).
    pub(super) fn len(self) -> usize {
        match self {
            Source::None => 0,
            Source::List(list) => list.len(),
            Source::Set(set) => set.len(),
            Source::ZSet(zset) => zset.len(),
        }
    }

    /// All elements. O(n).
    pub(super) fn all(self) -> Elements {
        match self {
            Source::None => Elements::default(),
            Source::List(list) => list.iter().collect(),
            Source::Set(set) => set.iter().collect(),
            Source::ZSet(zset) => zset.iter().map(|(member, _)| member).collect(),
        }
    }

    /// The shown elements in their own order or, if they have one and `descending` is true, in the reverse order.
    /// Returns some elements, and the range of shown ones among them. O(shown elements); O(n) for a set.
    pub(super) fn in_own_order(self, shown: Range<usize>, descending: bool) -> (Elements, Range<usize>) {
        let (len, count) = (self.len(), shown.len());
        let ranks = if descending { len - shown.end..len - shown.start } else { shown.clone() };
        let elements: Elements = match self {
            Source::None | Source::Set(_) => return (self.all(), shown),
            Source::List(list) if descending => list.range(ranks).rev().collect(),
            Source::List(list) => list.range(ranks).collect(),
            Source::ZSet(zset) if descending => zset.range(ranks).rev().map(|(member, _)| member).collect(),
            Source::ZSet(zset) => zset.range(ranks).map(|(member, _)| member).collect(),
        };
        (elements, 0..count)
    }
}
