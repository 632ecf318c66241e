//! A deque of chunks: the large form of a list.

use super::End;
use super::chunk::{Chunk, LISTPACK_EMPTY};
use crate::memory::{block, shrink_deque};
use crate::values::encodings::Encodings;
use lockwheel_resp::allocation::OutOfMemory;
use std::collections::VecDeque;
use std::ops::Range;

/// The most bytes of a chunk whose limit is a number of elements.
const COUNTED_CHUNK: usize = 8192;
/// The largest limit in bytes that can be configured.
const LARGEST_LIMIT: usize = 2048 << 5;
/// Redis' estimate of an element's overhead when it checks whether a node has room.
const ENTRY_OVERHEAD: usize = 8;

/// The factor by which a chunk may exceed its limit when longer elements replace others.
const OVERGROWN: usize = 4;

/// The most bytes of a chunk's listpack, and the most elements of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    bytes: usize,
    count: usize,
}

impl Limit {
    /// The configured limit. -1 to -5 are 4 to 64 KiB.
    pub(super) fn of(enc: &Encodings) -> Self {
        match enc.list_max_listpack_size {
            size @ ..=-1 => Self { bytes: 2048 << size.unsigned_abs().min(5), count: usize::MAX },
            count => {
                Self { bytes: COUNTED_CHUNK, count: usize::try_from(count).unwrap_or(usize::MAX).max(1) }
            }
        }
    }

    /// Half of the limit, below which a large list becomes small again; in elements, it does not limit the bytes.
    pub(super) fn half(self) -> Self {
        let bytes = if self.count == usize::MAX { self.bytes / 2 } else { usize::MAX };
        Self { bytes, count: self.count / 2 }
    }

    /// Whether a chunk of `bytes` bytes and `count` elements is within the limit.
    pub(super) fn allows(self, bytes: usize, count: usize) -> bool {
        bytes <= self.bytes && count <= self.count
    }

    fn has_room(self, chunk: &Chunk, element: &[u8]) -> bool {
        self.allows(chunk.listpack_size() + element.len() + ENTRY_OVERHEAD, chunk.len() + 1)
    }
}

/// The position of an element: the index of its chunk, and its place in the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) chunk: usize,
    pub(super) place: usize,
}

/// Chunks in order, none of them empty.
#[derive(Debug)]
pub(super) struct Chunks {
    chunks: VecDeque<Chunk>,
    /// The number of elements of all chunks.
    len: usize,
    /// Bytes of heap that the chunks hold.
    held: usize,
}

impl Clone for Chunks {
    fn clone(&self) -> Self {
        // Copies have no spare room.
        let chunks = self.chunks.clone();
        Self { held: held(&chunks), len: self.len, chunks }
    }
}

/// The bytes of heap that the chunks hold. O(chunks).
fn held(chunks: &VecDeque<Chunk>) -> usize {
    chunks.iter().map(Chunk::heap_bytes).sum()
}

impl Chunks {
    pub(super) fn new(chunk: Chunk) -> Self {
        let len = chunk.len();
        let chunks = if len == 0 { VecDeque::new() } else { VecDeque::from([chunk]) };
        Self { held: held(&chunks), len, chunks }
    }

    /// Bytes of heap that it holds. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        block(self.chunks.capacity() * size_of::<Chunk>()) + self.held
    }

    /// Whether `held` is correct. O(chunks).
    #[cfg(test)]
    pub(super) fn is_counted_right(&self) -> bool {
        self.held == held(&self.chunks)
    }

    /// Changes the chunk with this index. If the change unwinds, the chunk and the count are unchanged.
    fn change<R>(&mut self, index: usize, change: impl FnOnce(&mut Chunk) -> R) -> R {
        let chunk = &mut self.chunks[index];
        let before = chunk.heap_bytes();
        let result = change(chunk);
        self.held = self.held - before + chunk.heap_bytes();
        result
    }

    /// Makes room for one more chunk. Unwinds if memory is short.
    fn reserve(&mut self) {
        self.try_reserve().unwrap_or_else(|error| error.unwind());
    }

    /// Makes room for one more chunk, or returns the size if memory is short.
    fn try_reserve(&mut self) -> Result<(), OutOfMemory> {
        let bytes = (self.chunks.len() + 1) * size_of::<Chunk>();
        self.chunks.try_reserve(1).map_err(|_| OutOfMemory { bytes })
    }

    /// Puts a chunk before the one with this index, or at the end. There must be room for one more.
    fn put(&mut self, index: usize, chunk: Chunk) {
        self.held += chunk.heap_bytes();
        self.chunks.insert(index, chunk);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, index: usize) -> Option<&Chunk> {
        self.chunks.get(index)
    }

    pub(super) fn push(&mut self, end: End, element: &[u8], limit: Limit) {
        let outer = match end {
            End::Left => 0,
            End::Right => self.chunks.len().saturating_sub(1),
        };
        match self.chunks.get(outer) {
            Some(chunk) if limit.has_room(chunk, element) => {
                self.change(outer, |chunk| chunk.push(end, element));
                self.len += 1;
                return;
            }
            Some(_) => self.change(outer, Chunk::seal),
            None => {}
        }
        let mut chunk = Chunk::default();
        chunk.push(end, element);
        self.reserve();
        let at = if end == End::Left { 0 } else { self.chunks.len() };
        self.put(at, chunk);
        self.len += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Chunk> + Clone {
        self.chunks.iter()
    }

    /// Puts a chunk at the end, unless empty. Splits it if far above both `limit` and the largest configurable limit.
    pub(super) fn push_chunk(&mut self, mut chunk: Chunk, limit: Limit) {
        if chunk.len() > 0 {
            chunk.seal();
            self.reserve();
            self.len += chunk.len();
            self.put(self.chunks.len(), chunk);
            let bytes = limit.bytes.max(LARGEST_LIMIT);
            self.split_overgrown(self.chunks.len() - 1, Limit { bytes, ..limit });
        }
    }

    /// The position of the element with this index. Searches from the nearer end.
    pub(super) fn spot(&self, index: usize) -> Option<Spot> {
        let (chunk, rest) = self.locate(index)?;
        Some(Spot { chunk, place: self.chunks[chunk].place_of(rest) })
    }

    /// Replaces the element at `spot`. As in Redis, the chunk may then exceed its limit, but only up to a bound.
    pub(super) fn replace(&mut self, spot: Spot, element: &[u8], limit: Limit) {
        self.change(spot.chunk, |chunk| chunk.replace(spot.place, element));
        self.split_overgrown(spot.chunk, limit);
    }

    /// Inserts an element before the one at `spot`. A full chunk is split there, unless a neighbour or a new chunk can
    /// take the element. Redis does the same, which decides when a list becomes large.
    pub(super) fn insert(&mut self, Spot { chunk: at, place }: Spot, element: &[u8], limit: Limit) {
        let chunk = &self.chunks[at];
        if limit.has_room(chunk, element) {
            self.change(at, |chunk| chunk.insert(place, element));
        } else if place > chunk.front() {
            // Memory for the element may be short: the list must have all other elements by then.
            self.reserve();
            let tail = self.change(at, |chunk| chunk.split_off(place));
            self.put(at + 1, tail);
            self.change(at, |chunk| chunk.push(End::Right, element));
            self.merge_around(at + 1, limit);
        } else if let Some(before) = at.checked_sub(1)
            && limit.has_room(&self.chunks[before], element)
        {
            self.change(before, |chunk| chunk.push(End::Right, element));
        } else {
            let mut chunk = Chunk::default();
            chunk.push(End::Right, element);
            self.reserve();
            self.put(at, chunk);
        }
        self.len += 1;
    }

    /// Removes the elements with these indexes, which must exist.
    pub(super) fn remove_range(&mut self, range: Range<usize>) {
        let Some((mut index, mut from)) = self.locate(range.start) else { return };
        let mut left = range.len();
        self.len -= left;
        let mut empty = index..index;
        while left > 0 {
            let chunk = &self.chunks[index];
            let count = left.min(chunk.len() - from);
            if count == chunk.len() {
                empty = if empty.is_empty() { index..index + 1 } else { empty.start..index + 1 };
            } else {
                let places = chunk.place_of(from)..chunk.place_of(from + count);
                self.change(index, |chunk| chunk.remove(places));
            }
            left -= count;
            (index, from) = (index + 1, 0);
        }
        self.held -= self.chunks.drain(empty).map(|chunk| chunk.heap_bytes()).sum::<usize>();
        self.shrink();
    }

    /// Removes up to `max` elements equal to `element`, beginning at an end; returns their number.
    pub(super) fn remove_equal(&mut self, element: &[u8], max: usize, from: End) -> usize {
        let mut left = max;
        let mut remove = |chunk: &mut Chunk| {
            if left > 0 {
                left -= chunk.remove_equal(element, left, from);
            }
        };
        match from {
            End::Left => self.chunks.iter_mut().for_each(&mut remove),
            End::Right => self.chunks.iter_mut().rev().for_each(&mut remove),
        }
        self.len -= max - left;
        self.chunks.retain(|chunk| chunk.len() > 0);
        self.held = held(&self.chunks);
        self.shrink();
        max - left
    }

    /// Takes the only chunk out, if there is at most one and it is within `limit`.
    pub(super) fn take_only(&mut self, limit: Limit) -> Option<Chunk> {
        match self.chunks.front() {
            None => Some(Chunk::default()),
            Some(chunk) if self.chunks.len() == 1 && limit.allows(chunk.listpack_size(), chunk.len()) => {
                self.held = 0;
                self.chunks.pop_front()
            }
            Some(_) => None,
        }
    }

    /// The index of the chunk that has the element with this index, and the element's index in the chunk.
    fn locate(&self, index: usize) -> Option<(usize, usize)> {
        if index >= self.len {
            return None;
        }
        if index <= self.len / 2 {
            let mut rest = index;
            for (n, chunk) in self.chunks.iter().enumerate() {
                if rest < chunk.len() {
                    return Some((n, rest));
                }
                rest -= chunk.len();
            }
        } else {
            let mut rest = self.len - index;
            for (n, chunk) in self.chunks.iter().enumerate().rev() {
                if rest <= chunk.len() {
                    return Some((n, chunk.len() - rest));
                }
                rest -= chunk.len();
            }
        }
        None
    }

    /// Halves a chunk that far exceeds its limit until none does. A single element may exceed it. If memory for a half
    /// is short, the chunk stays as it is: the command has changed the list already, and must not fail.
    fn split_overgrown(&mut self, index: usize, limit: Limit) {
        let chunk = &self.chunks[index];
        if chunk.len() < 2 || chunk.listpack_size() / OVERGROWN <= limit.bytes {
            return;
        }
        let halve = |chunk: &mut Chunk| chunk.try_split_off(chunk.place_of(chunk.len() / 2));
        let Ok(tail) = self.try_reserve().and_then(|()| self.change(index, halve)) else { return };
        self.put(index + 1, tail);
        self.split_overgrown(index + 1, limit);
        self.split_overgrown(index, limit);
    }

    /// Merges chunks around `center`, the second half of a split chunk, in the order of Redis.
    fn merge_around(&mut self, center: usize, limit: Limit) {
        let mut center = center;
        if center > 1 && self.merge(center - 2, limit) {
            center -= 1;
        }
        self.merge(center + 1, limit);
        if center > 0 && self.merge(center - 1, limit) {
            center -= 1;
        }
        self.merge(center, limit);
    }

    /// Merges a chunk with the next one, if there is one, both fit into one chunk and memory suffices.
    fn merge(&mut self, left: usize, limit: Limit) -> bool {
        let (Some(one), Some(two)) = (self.chunks.get(left), self.chunks.get(left + 1)) else { return false };
        if !limit.allows(one.listpack_size() + two.listpack_size() - LISTPACK_EMPTY, one.len() + two.len()) {
            return false;
        }
        let more = two.used();
        if self.change(left, |chunk| chunk.try_reserve(more)).is_err() {
            return false;
        }
        if let Some(two) = self.chunks.remove(left + 1) {
            self.held -= two.heap_bytes();
            self.change(left, |chunk| chunk.append(&two));
        }
        true
    }

    /// Frees memory of the deque itself if less than a quarter is used.
    fn shrink(&mut self) {
        if self.chunks.capacity() > 16 && self.chunks.len() < self.chunks.capacity() / 4 {
            let room = self.chunks.len() * 2;
            shrink_deque(&mut self.chunks, room);
        }
    }
}
