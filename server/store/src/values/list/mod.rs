//! The list value.

mod chunk;
mod chunks;
mod iter;

use super::encodings::{Encoding, Encodings};
use crate::memory::block;
use chunk::Chunk;
use chunks::{Chunks, Limit, Spot};
pub use iter::Iter;
use lockwheel_resp::allocation;
use std::ops::{Deref, Range};

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The front, index 0.
    Left,
    /// The back, index -1.
    Right,
}

/// Elements in order: one block of memory while the list is small, else a deque of such blocks. O(1) amortised at both
/// ends, O(blocks + block) in the middle.
#[derive(Clone, Debug)]
pub struct List(Form);

#[derive(Clone, Debug)]
enum Form {
    /// A chunk within the configured limit, which is checked at each write.
    One(Box<Chunk>),
    /// Chunks, none of them empty, and the number of elements in all.
    Many(Box<Chunks>),
}

impl Default for List {
    fn default() -> Self {
        Self(Form::One(Box::default()))
    }
}

impl List {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of elements. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::One(chunk) => chunk.len(),
            Form::Many(chunks) => chunks.len(),
        }
    }

    /// Bytes of heap that it holds. O(1).
    #[must_use]
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::One(chunk) => block(size_of::<Chunk>()) + chunk.heap_bytes(),
            Form::Many(chunks) => block(size_of::<Chunks>()) + chunks.heap_bytes(),
        }
    }

    /// Whether there is no element. An empty list is not stored: its key is deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The blocks of memory of the list, in order. There are as many as there would be nodes in Redis.
    pub fn blocks(&self) -> impl Iterator<Item = ListBlock<'_>> + Clone {
        let (one, many) = match &self.0 {
            Form::One(chunk) => (Some(&**chunk), None),
            Form::Many(chunks) => (None, Some(chunks.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten()).map(ListBlock)
    }

    /// Adds elements at an end, one after another, so that pushed at the left, the last one ends up first. All elements
    /// of a command must be in one call: Redis chooses the encoding by their total size.
    pub fn push_all<'a, I>(&mut self, end: End, elements: I, enc: &Encodings)
    where
        I: IntoIterator<Item = &'a [u8], IntoIter: Clone>,
    {
        let elements = elements.into_iter();
        let (bytes, count) = elements.clone().fold((0, 0), |(bytes, count), e| (bytes + e.len(), count + 1));
        self.grow(bytes, count, enc);
        for element in elements {
            match &mut self.0 {
                Form::One(chunk) => chunk.push(end, element),
                Form::Many(chunks) => chunks.push(end, element, Limit::of(enc)),
            }
        }
    }

    /// Adds one element at an end.
    pub fn push(&mut self, end: End, element: &[u8], enc: &Encodings) {
        self.push_all(end, [element], enc);
    }

    /// The element at an end.
    #[must_use]
    pub fn peek(&self, end: End) -> Option<&[u8]> {
        match end {
            End::Left => self.get(0),
            End::Right => self.get(self.len().checked_sub(1)?),
        }
    }

    /// Removes and returns the element at an end. To reply the element without a copy, use `peek`, then `drop_end`.
    pub fn pop(&mut self, end: End, enc: &Encodings) -> Option<Box<[u8]>> {
        let element = allocation::copy(self.peek(end)?);
        self.drop_end(end, 1, enc);
        Some(element)
    }

    /// Removes up to `count` elements at an end.
    pub fn drop_end(&mut self, end: End, count: usize, enc: &Encodings) {
        let (len, count) = (self.len(), count.min(self.len()));
        match end {
            End::Left => self.remove_range(0..count, enc),
            End::Right => self.remove_range(len - count..len, enc),
        }
    }

    /// The element with this index from the front.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let spot = self.spot(index)?;
        Some(self.chunk(spot.chunk)?.at(spot.place)?.0)
    }

    /// Replaces the element with this index. Returns false if there is none.
    pub fn set(&mut self, index: usize, element: &[u8], enc: &Encodings) -> bool {
        if index >= self.len() {
            return false;
        }
        self.grow(element.len(), 1, enc);
        if let Some(spot) = self.spot(index) {
            match &mut self.0 {
                Form::One(chunk) => chunk.replace(spot.place, element),
                Form::Many(chunks) => chunks.replace(spot, element, Limit::of(enc)),
            }
        }
        self.shrink(enc);
        true
    }

    /// Inserts an element so that it gets this index. An index beyond the end appends it.
    pub fn insert(&mut self, index: usize, element: &[u8], enc: &Encodings) {
        let Some(_) = self.spot(index) else { return self.push(End::Right, element, enc) };
        self.grow(element.len(), 1, enc);
        // Searched again, because `grow` may have changed the form of the list.
        if let Some(spot) = self.spot(index) {
            match &mut self.0 {
                Form::One(chunk) => chunk.insert(spot.place, element),
                Form::Many(chunks) => chunks.insert(spot, element, Limit::of(enc)),
            }
        }
    }

    /// Removes the elements with these indexes. Ignores indexes beyond the end.
    pub fn remove_range(&mut self, range: Range<usize>, enc: &Encodings) {
        let end = range.end.min(self.len());
        if range.start >= end {
            return;
        }
        match &mut self.0 {
            Form::One(chunk) => {
                let places = chunk.place_of(range.start)..chunk.place_of(end);
                chunk.remove(places);
            }
            Form::Many(chunks) => chunks.remove_range(range.start..end),
        }
        self.shrink(enc);
    }

    /// Keeps only the elements with these indexes. Even if all are kept, the list becomes small if it can, as in Redis.
    pub fn trim(&mut self, keep: Range<usize>, enc: &Encodings) {
        self.remove_range(keep.end.max(keep.start)..usize::MAX, enc);
        self.remove_range(0..keep.start, enc);
        self.shrink(enc);
    }

    /// Removes up to `max` elements equal to `element`, beginning at an end; returns their number.
    pub fn remove_equal(&mut self, element: &[u8], max: usize, from: End, enc: &Encodings) -> usize {
        let removed = match &mut self.0 {
            Form::One(chunk) => chunk.remove_equal(element, max, from),
            Form::Many(chunks) => chunks.remove_equal(element, max, from),
        };
        if removed > 0 {
            self.shrink(enc);
        }
        removed
    }

    /// All elements, from both ends.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        self.range(0..self.len())
    }

    /// The elements with these indexes that exist, from both ends. O(blocks + block) to begin, O(1) each.
    #[must_use]
    pub fn range(&self, range: Range<usize>) -> Iter<'_> {
        Iter::new(self, range)
    }

    /// The representation, named as by OBJECT ENCODING.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match &self.0 {
            Form::One(_) => Encoding::Listpack,
            Form::Many(_) => Encoding::Quicklist,
        }
    }

    fn chunk(&self, index: usize) -> Option<&Chunk> {
        match &self.0 {
            Form::One(chunk) => (index == 0).then_some(chunk),
            Form::Many(chunks) => chunks.get(index),
        }
    }

    /// The position of the element with this index.
    fn spot(&self, index: usize) -> Option<Spot> {
        match &self.0 {
            Form::One(chunk) => {
                (index < chunk.len()).then(|| Spot { chunk: 0, place: chunk.place_of(index) })
            }
            Form::Many(chunks) => chunks.spot(index),
        }
    }

    /// Makes a small list large without room for `count` elements of `bytes` in all, without overhead as in Redis.
    fn grow(&mut self, bytes: usize, count: usize, enc: &Encodings) {
        if let Form::One(chunk) = &mut self.0
            && !Limit::of(enc).allows(chunk.listpack_size() + bytes, chunk.len() + count)
        {
            self.0 = Form::Many(Box::new(Chunks::new(std::mem::take(chunk))));
        }
    }

    /// Makes a list small again if one block is left and it is at most half full, as in Redis 7.2.
    fn shrink(&mut self, enc: &Encodings) {
        if let Form::Many(chunks) = &mut self.0
            && let Some(chunk) = chunks.take_only(Limit::of(enc).half())
        {
            self.0 = Form::One(Box::new(chunk));
        }
    }
}

/// A block of a [`List`].
#[derive(Clone, Copy, Debug)]
pub struct ListBlock<'a>(&'a Chunk);

impl<'a> ListBlock<'a> {
    /// The elements of the block.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let mut place = self.0.front();
        std::iter::from_fn(move || {
            let (element, next) = self.0.at(place)?;
            place = next;
            Some(element)
        })
    }

    /// The number of elements: at least one, except for an empty list.
    #[must_use]
    pub fn count(self) -> usize {
        self.0.len()
    }

    /// The bytes of a listpack of these elements.
    #[must_use]
    pub fn listpack_size(self) -> usize {
        self.0.listpack_size()
    }
}

/// A list under construction: from blocks that another server has chosen, or from elements alone.
#[derive(Debug)]
pub struct ListBuilder {
    chunks: Chunks,
    limit: Limit,
}

impl ListBuilder {
    /// Begins a list without elements.
    #[must_use]
    pub fn new(enc: &Encodings) -> Self {
        Self { chunks: Chunks::new(Chunk::default()), limit: Limit::of(enc) }
    }

    /// Adds an element, in a new block if there is no room in the last one.
    pub fn push(&mut self, element: &[u8]) {
        self.chunks.push(End::Right, element, self.limit);
    }

    /// Adds elements as one block, or as several if they far exceed the limit of a block.
    pub fn push_block<T: Deref<Target = [u8]>>(&mut self, elements: impl IntoIterator<Item = T>) {
        let mut chunk = Chunk::default();
        elements.into_iter().for_each(|element| chunk.push(End::Right, &element));
        self.chunks.push_chunk(chunk, self.limit);
    }

    /// Finishes the list. If `may_be_small`, the list is small if it is one block within the limits.
    #[must_use]
    pub fn finish(mut self, may_be_small: bool) -> List {
        let only = if may_be_small { self.chunks.take_only(self.limit) } else { None };
        List(match only {
            Some(chunk) => Form::One(Box::new(chunk)),
            None => Form::Many(Box::new(self.chunks)),
        })
    }
}

#[cfg(test)]
mod tests;
