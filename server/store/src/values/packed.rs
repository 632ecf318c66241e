//! A sequence of short byte strings in one block of memory: the representation of small hashes, sets and sorted sets.

use crate::memory::block;
use lockwheel_resp::allocation;
use std::ops::Deref;

/// Bytes of the header: the number of elements, little endian.
const HEADER: usize = 4;
/// The most bytes of a block. A larger one becomes a table first, at the same bound as in Redis.
const LARGEST: usize = 1 << 30;

/// Byte strings one after another, each preceded by its length, in order of insertion unless the owner orders them. One
/// allocation of exactly the needed size; none while empty. Searches are linear, so owners keep it small. An element's
/// *place* is the offset of its first byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed(Box<[u8]>);

impl Packed {
    pub(super) fn len(&self) -> usize {
        match self.0.first_chunk::<HEADER>() {
            Some(count) => u32::from_le_bytes(*count) as usize,
            None => 0,
        }
    }

    /// Bytes of heap that it holds. O(1).
    #[inline]
    pub(super) fn heap_bytes(&self) -> usize {
        block(self.0.len())
    }

    /// The bytes of the block.
    #[inline]
    pub(super) fn block_len(&self) -> usize {
        self.0.len()
    }

    /// Whether adding `bytes` bytes in two elements keeps the block within its bound.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        Self::may_hold(self.0.len().saturating_add(bytes))
    }

    /// Whether a block of `bytes` bytes, and the lengths of two elements, is within the bound.
    pub(super) fn may_hold(bytes: usize) -> bool {
        bytes < LARGEST - 32
    }

    /// The elements from the front.
    pub(super) fn iter(&self) -> Iter<'_> {
        self.iter_at(HEADER)
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<&[u8]> {
        if let [_, _, _, _, len, rest @ ..] = &*self.0
            && *len < 0x80
            && let Some(first) = rest.get(..usize::from(*len))
        {
            return Some(first);
        }
        self.iter().next()
    }

    /// The elements from the one at `place` on.
    pub(super) fn iter_at(&self, place: usize) -> Iter<'_> {
        Iter { block: &self.0, place }
    }

    /// The element at `place`.
    pub(super) fn at(&self, place: usize) -> &[u8] {
        self.iter_at(place).next().unwrap_or_default()
    }

    /// A block of these elements. O(their bytes).
    pub(super) fn collect<T: Deref<Target = [u8]>>(elements: impl IntoIterator<Item = T>) -> Self {
        let (mut block, mut count) = (vec![0; HEADER], 0_u32);
        for element in elements {
            let at = block.len();
            allocation::reserve(&mut block, size(element.len()));
            block.resize(at + size(element.len()), 0);
            write(&mut block, at, &element);
            count += 1;
        }
        if count == 0 {
            return Self::default();
        }
        block[..HEADER].copy_from_slice(&count.to_le_bytes());
        allocation::check_copies(block.len()).unwrap_or_else(|error| error.unwind());
        Self(block.into_boxed_slice())
    }

    pub(super) fn push(&mut self, elements: &[&[u8]]) {
        match self.0.len() {
            _ if elements.is_empty() => {}
            0 => *self = Self::of(elements),
            end => self.replace(end, 0, elements),
        }
    }

    /// A block of these elements, of which there must be at least one.
    fn of(elements: &[&[u8]]) -> Self {
        let bytes = elements.iter().map(|element| size(element.len())).sum();
        let mut builder = Builder::new(elements.len(), bytes);
        elements.iter().for_each(|element| builder.push(element));
        builder.finish()
    }

    /// Replaces the `old` elements from `place` on by `new` ones. O(block); O(replaced) if the sizes are equal.
    pub(super) fn replace(&mut self, place: usize, old: usize, new: &[&[u8]]) {
        let count = self.len() + new.len() - old;
        if count == 0 {
            self.0 = Box::default();
            return;
        }
        let old_end = self.skip(place, old);
        let new_end = place + new.iter().map(|element| size(element.len())).sum::<usize>();
        self.resize_gap(old_end, new_end);
        let mut at = place;
        for element in new {
            at = write(&mut self.0, at, element);
        }
        // The count fits: an element takes at least a byte of a block of at most a gigabyte.
        self.0[..HEADER].copy_from_slice(&(count as u32).to_le_bytes());
    }

    /// Replaces the element at `place`. O(block); O(element) if the length is the same.
    #[inline]
    pub(super) fn set(&mut self, place: usize, new: &[u8]) {
        match self.0.get(place..).and_then(read_length) {
            Some((len, prefix)) if len == new.len() => {
                self.0[place + prefix..][..len].copy_from_slice(new);
            }
            _ => self.replace(place, 1, &[new]),
        }
    }

    /// The place after `count` elements from `place` on.
    pub(super) fn skip(&self, place: usize, count: usize) -> usize {
        let mut iter = self.iter_at(place);
        for _ in 0..count {
            iter.next();
        }
        iter.place
    }

    /// The place of the element with this index. O(index).
    pub(super) fn place_of(&self, index: usize) -> usize {
        self.skip(HEADER, index)
    }

    /// Moves the bytes from `from` on to `to`. The block grows or shrinks by the difference.
    fn resize_gap(&mut self, from: usize, to: usize) {
        if from == to {
            return;
        }
        let end = self.0.len().max(from);
        if to > from {
            // Checked before the elements are taken out, so that none is lost.
            allocation::check_copies(end + (to - from)).unwrap_or_else(|error| error.unwind());
        }
        let mut block = std::mem::take(&mut self.0).into_vec();
        if to > from {
            block.reserve_exact(end + (to - from) - block.len());
            block.resize(end + (to - from), 0);
            block.copy_within(from..end, to);
        } else {
            block.copy_within(from..end, to);
            block.truncate(end - (from - to));
        }
        self.0 = block.into_boxed_slice();
    }
}

/// A block under construction whose size is known in advance.
#[derive(Debug)]
pub(super) struct Builder(Vec<u8>);

impl Builder {
    /// Begins a block for `elements` elements, at least one, that take `bytes` bytes in all: see [`size`].
    pub(super) fn new(elements: usize, bytes: usize) -> Self {
        let mut block = Vec::new();
        allocation::reserve_exact(&mut block, HEADER + bytes);
        // The count fits: an element takes at least a byte of a block of at most a gigabyte.
        block.extend_from_slice(&(elements as u32).to_le_bytes());
        Self(block)
    }

    pub(super) fn push(&mut self, element: &[u8]) {
        let mut prefix = [0; 10];
        let end = write_length(&mut prefix, 0, element.len());
        self.0.extend_from_slice(&prefix[..end]);
        self.0.extend_from_slice(element);
    }

    pub(super) fn finish(self) -> Packed {
        Packed(self.0.into_boxed_slice())
    }
}

/// The elements of a [`Packed`] with their places.
#[derive(Clone, Debug)]
pub(super) struct Iter<'a> {
    block: &'a [u8],
    place: usize,
}

impl<'a> Iter<'a> {
    pub(super) fn place(&self) -> usize {
        self.place
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.block.get(self.place..)?;
        let (len, prefix) = read_length(rest)?;
        let element = rest.get(prefix..prefix + len)?;
        self.place += prefix + len;
        Some(element)
    }
}

/// Bytes of an element of `len` bytes, with its length.
pub(super) fn size(len: usize) -> usize {
    length_size(len) + len
}

/// Bytes of an encoded length, at seven bits a byte.
pub(super) fn length_size(len: usize) -> usize {
    let bits = usize::BITS - (len | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// The length at the start of `bytes`, and the number of its bytes.
pub(super) fn read_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((usize::from(first), 1));
    }
    let mut len = usize::from(first & 0x7f);
    for (at, byte) in bytes.iter().enumerate().skip(1).take(5) {
        len |= usize::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Some((len, at + 1));
        }
    }
    None
}

/// Writes a length at `at`; returns the place after it.
pub(super) fn write_length(block: &mut [u8], mut at: usize, mut len: usize) -> usize {
    while len >= 0x80 {
        block[at] = (len as u8) | 0x80;
        len >>= 7;
        at += 1;
    }
    block[at] = len as u8;
    at + 1
}

/// Writes an element with its length at `at`; returns the place after it.
fn write(block: &mut [u8], at: usize, element: &[u8]) -> usize {
    let at = write_length(block, at, element.len());
    block[at..at + element.len()].copy_from_slice(element);
    at + element.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lock_of_one_field_takes_under_48_bytes() {
        let mut packed = Packed::default();
        packed.push(&[&[b'u'; 40], b"1"]);
        assert!(packed.0.len() <= 48, "{}", packed.0.len());
    }

    proptest! {
        #[test]
        fn a_packed_list_is_a_vector_of_byte_strings(
            steps in prop::collection::vec(
                (any::<prop::sample::Index>(), 0_usize..3, prop::collection::vec(0_usize..300, 0..3)), 0..40)
        ) {
            let mut model: Vec<Vec<u8>> = Vec::new();
            let mut packed = Packed::default();
            for (n, (index, old, new)) in steps.into_iter().enumerate() {
                let index = index.index(model.len() + 1);
                let old = old.min(model.len() - index);
                let new: Vec<Vec<u8>> = new.into_iter().map(|len| vec![n as u8; len]).collect();
                let parts: Vec<&[u8]> = new.iter().map(Vec::as_slice).collect();
                if index == model.len() {
                    packed.push(&parts);
                } else {
                    packed.replace(packed.place_of(index), old, &parts);
                }
                model.splice(index..index + old, new);
                prop_assert_eq!(packed.len(), model.len());
                prop_assert!(packed.iter().eq(model.iter().map(Vec::as_slice)));
                prop_assert_eq!(packed.0.is_empty(), model.is_empty());
                prop_assert_eq!(&Packed::collect(model.iter().map(Vec::as_slice)), &packed);
            }
        }

        #[test]
        fn lengths_are_read_back(len in prop_oneof![0_usize..70_000, 0_usize..(1 << 34)]) {
            let mut bytes = [0; 8];
            let end = write_length(&mut bytes, 0, len);
            prop_assert_eq!(end, length_size(len));
            prop_assert_eq!(read_length(&bytes), Some((len, end)));
        }
    }
}
