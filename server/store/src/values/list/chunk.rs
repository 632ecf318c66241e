//! A run of list elements in one block of memory, cheap to change at both ends.

use super::End;
use crate::memory::vec_heap_bytes;
use crate::values::integer;
use crate::values::packed::{length_size, read_length, write_length};
use lockwheel_resp::allocation::{self, OutOfMemory};
use std::ops::Range;

/// The bytes of a listpack without elements.
pub(super) const LISTPACK_EMPTY: usize = 7;
/// The spare room in bytes that a chunk may keep without giving memory back.
const SLACK: usize = 128;

/// Elements one after another, each preceded by its length, and followed by it backwards, for walks from both ends.
/// Free room at the front makes additions there cheap. An element's *place* is the offset of its first length.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    block: Vec<u8>,
    /// The place of the first element.
    head: usize,
    count: usize,
    /// The bytes of the elements in a listpack, which Redis' limits count.
    listpack: usize,
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Bytes that a listpack of these elements takes.
    pub(super) fn listpack_size(&self) -> usize {
        self.listpack + LISTPACK_EMPTY
    }

    /// Bytes of heap that it holds. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        vec_heap_bytes(&self.block)
    }

    /// The place of the first element.
    pub(super) fn front(&self) -> usize {
        self.head
    }

    /// The place after the last element.
    pub(super) fn end(&self) -> usize {
        self.block.len()
    }

    /// The element at `place` and the place of the next one. Returns `None` at the end.
    pub(super) fn at(&self, place: usize) -> Option<(&[u8], usize)> {
        let rest = self.block.get(place..)?;
        let (len, prefix) = read_length(rest)?;
        Some((rest.get(prefix..prefix + len)?, place + len + 2 * prefix))
    }

    /// The place of the element before `place`. Returns `None` at the front.
    pub(super) fn before(&self, place: usize) -> Option<usize> {
        if place <= self.head {
            return None;
        }
        let (len, prefix) = read_length_backwards(&self.block[..place])?;
        Some(place - len - 2 * prefix)
    }

    /// The place of the element with this index, or the end if there are as many. Walks from the nearer end.
    pub(super) fn place_of(&self, index: usize) -> usize {
        if index <= self.count / 2 {
            let mut place = self.head;
            for _ in 0..index {
                place = self.at(place).map_or(place, |(_, next)| next);
            }
            place
        } else {
            let mut place = self.end();
            for _ in index..self.count {
                place = self.before(place).unwrap_or(place);
            }
            place
        }
    }

    /// Appends an element. Amortised O(length of the element).
    fn push_back(&mut self, element: &[u8]) {
        let at = self.end();
        allocation::reserve(&mut self.block, size(element.len()));
        self.block.resize(at + size(element.len()), 0);
        self.added(at, element);
    }

    /// Prepends an element. Amortised O(length of the element).
    fn push_front(&mut self, element: &[u8]) {
        let size = size(element.len());
        if self.head < size {
            // The free room is as large as the elements, so that the cost of moving them is amortised.
            let used = self.end() - self.head;
            let head = if self.count == 0 { size } else { size + used.min(4096) };
            let mut block = allocation::zeros(head + used);
            block[head..].copy_from_slice(&self.block[self.head..]);
            (self.block, self.head) = (block, head);
        }
        self.head -= size;
        self.added(self.head, element);
    }

    /// Inserts an element before the one at `place`, or at the end.
    pub(super) fn insert(&mut self, place: usize, element: &[u8]) {
        let (end, size) = (self.end(), size(element.len()));
        allocation::reserve(&mut self.block, size);
        self.block.resize(end + size, 0);
        self.block.copy_within(place..end, place + size);
        self.added(place, element);
    }

    /// Replaces the element at `place`.
    pub(super) fn replace(&mut self, place: usize, element: &[u8]) {
        let Some((old, next)) = self.at(place) else { return };
        let old = listpack_entry(old);
        let (end, new_next) = (self.end(), place + size(element.len()));
        if new_next > next {
            allocation::reserve(&mut self.block, new_next - next);
            self.block.resize(end + (new_next - next), 0);
        }
        self.listpack -= old;
        self.count -= 1;
        self.block.copy_within(next..end, new_next);
        self.block.truncate(end + new_next - next);
        self.added(place, element);
        self.shrink();
    }

    /// Removes the elements between two places. The elements after them move down, unless none comes before.
    pub(super) fn remove(&mut self, places: Range<usize>) {
        let (count, bytes) = self.account(places.clone());
        self.count -= count;
        self.listpack -= bytes;
        if self.count == 0 {
            *self = Self::default();
        } else if places.start == self.head {
            self.head = places.end;
        } else {
            self.block.drain(places);
        }
        self.shrink();
    }

    pub(super) fn push(&mut self, end: End, element: &[u8]) {
        match end {
            End::Left => self.push_front(element),
            End::Right => self.push_back(element),
        }
    }

    /// Removes up to `max` elements equal to `element`, beginning at an end; returns their number. O(chunk).
    pub(super) fn remove_equal(&mut self, element: &[u8], max: usize, from: End) -> usize {
        let (mut place, mut doomed) = (self.head, Vec::new());
        while let Some((there, next)) = self.at(place) {
            if there == element {
                doomed.push(place);
            }
            place = next;
        }
        let count = doomed.len().min(max);
        match from {
            End::Left => doomed.truncate(count),
            End::Right => drop(doomed.drain(..doomed.len() - count)),
        }
        if count > 0 {
            self.remove_each(&doomed);
        }
        count
    }

    /// Removes the elements at `places`, which must ascend. O(chunk), for any number of places.
    fn remove_each(&mut self, places: &[usize]) {
        let mut block = Vec::new();
        allocation::reserve_exact(&mut block, self.end() - self.head);
        let mut kept = Self { block, ..Self::default() };
        let (mut place, mut doomed) = (self.head, places.iter().peekable());
        while let Some((element, next)) = self.at(place) {
            if doomed.next_if_eq(&&place).is_none() {
                kept.push_back(element);
            }
            place = next;
        }
        *self = kept;
        self.shrink();
    }

    /// Splits off the elements from `place` on. Unwinds if memory for their copy is short.
    pub(super) fn split_off(&mut self, place: usize) -> Self {
        self.try_split_off(place).unwrap_or_else(|error| error.unwind())
    }

    /// Splits off the elements from `place` on. If memory for them is short, returns its size, and changes nothing.
    pub(super) fn try_split_off(&mut self, place: usize) -> Result<Self, OutOfMemory> {
        let mut tail =
            Self { block: allocation::try_copy(&self.block[place..])?.into_vec(), ..Self::default() };
        (tail.count, tail.listpack) = tail.account(0..tail.end());
        self.count -= tail.count;
        self.listpack -= tail.listpack;
        self.block.truncate(place);
        self.shrink();
        Ok(tail)
    }

    /// The bytes of the block that the elements take.
    pub(super) fn used(&self) -> usize {
        self.end() - self.head
    }

    /// Makes room for `bytes` bytes of another chunk's elements, or returns the size if memory is short.
    pub(super) fn try_reserve(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        allocation::try_reserve(&mut self.block, bytes)
    }

    pub(super) fn append(&mut self, other: &Self) {
        allocation::append(&mut self.block, &other.block[other.head..]);
        self.count += other.count;
        self.listpack += other.listpack;
    }

    /// Frees all spare memory.
    pub(super) fn seal(&mut self) {
        self.block.drain(..self.head);
        self.head = 0;
        allocation::shrink(&mut self.block);
    }

    /// Writes a new element into the room made for it at `at`.
    fn added(&mut self, at: usize, element: &[u8]) {
        let start = write_length(&mut self.block, at, element.len());
        let end = start + element.len();
        self.block[start..end].copy_from_slice(element);
        let after = write_length(&mut self.block, end, element.len());
        self.block[end..after].reverse();
        self.count += 1;
        self.listpack += listpack_entry(element);
    }

    /// The number of elements between two places, and the bytes that they take in a listpack.
    fn account(&self, places: Range<usize>) -> (usize, usize) {
        let (mut place, mut count, mut bytes) = (places.start, 0, 0);
        while place < places.end {
            let Some((element, next)) = self.at(place) else { break };
            count += 1;
            bytes += listpack_entry(element);
            place = next;
        }
        (count, bytes)
    }

    /// Frees memory if less than half of it is used.
    fn shrink(&mut self) {
        let used = self.end() - self.head;
        if self.block.capacity() > 2 * used + SLACK {
            self.seal();
        }
    }
}

/// Bytes that an element of `len` bytes takes.
fn size(len: usize) -> usize {
    len + 2 * length_size(len)
}

/// The length at the end of `bytes`, written backwards, and the number of its bytes.
fn read_length_backwards(bytes: &[u8]) -> Option<(usize, usize)> {
    let last = *bytes.last()?;
    if last < 0x80 {
        return Some((usize::from(last), 1));
    }
    let mut tail = [0; 6];
    for (to, from) in tail.iter_mut().zip(bytes.iter().rev()) {
        *to = *from;
    }
    read_length(&tail)
}

/// The bytes of an element in a listpack. Integers are stored as integers, and every entry ends with its own size.
pub(super) fn listpack_entry(element: &[u8]) -> usize {
    let data = match integer::parse(element) {
        Some(0..=127) => 1,
        Some(-4096..=4095) => 2,
        Some(value) if i16::try_from(value).is_ok() => 3,
        Some(-8_388_608..=8_388_607) => 4,
        Some(value) if i32::try_from(value).is_ok() => 5,
        Some(_) => 9,
        None => match element.len() {
            len @ 0..=63 => 1 + len,
            len @ 64..=4095 => 2 + len,
            len => 5 + len,
        },
    };
    data + match data {
        0..=127 => 1,
        128..=16_382 => 2,
        16_383..=2_097_150 => 3,
        2_097_151..=268_435_454 => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn elements(chunk: &Chunk) -> Vec<Vec<u8>> {
        let (mut place, mut all) = (chunk.front(), Vec::new());
        while let Some((element, next)) = chunk.at(place) {
            all.push(element.to_vec());
            place = next;
        }
        all
    }

    fn backwards(chunk: &Chunk) -> Vec<Vec<u8>> {
        let (mut place, mut all) = (chunk.end(), Vec::new());
        while let Some(before) = chunk.before(place) {
            all.push(chunk.at(before).map(|(element, _)| element.to_vec()).unwrap_or_default());
            place = before;
        }
        all.reverse();
        all
    }

    #[test]
    fn listpack_sizes_are_those_of_the_real_server() {
        let sizes =
            ["0", "127", "128", "-1", "4095", "4096", "32767", "32768", "8388608", "2147483648", "", "a"];
        let real = [2, 2, 3, 3, 3, 4, 4, 5, 6, 10, 2, 3];
        assert_eq!(sizes.map(|text| listpack_entry(text.as_bytes())), real);
        assert_eq!(listpack_entry(&[b'a'; 63]), 65);
        assert_eq!(listpack_entry(&[b'a'; 64]), 67);
        assert_eq!(listpack_entry(&[b'a'; 4096]), 4103);
    }

    #[test]
    fn a_queue_does_not_grow() {
        let mut chunk = Chunk::default();
        for n in 0..10_000 {
            chunk.push_back(format!("element {n}").as_bytes());
            if chunk.len() > 5 {
                chunk.remove(chunk.front()..chunk.place_of(1));
            }
        }
        assert!(chunk.block.capacity() < 1024, "{}", chunk.block.capacity());
    }

    proptest! {
        #[test]
        fn a_chunk_is_a_deque(
            steps in prop::collection::vec((0_u8..9, any::<prop::sample::Index>(), 0_usize..300), 0..60),
        ) {
            let (mut chunk, mut model) = (Chunk::default(), Vec::<Vec<u8>>::new());
            for (op, index, len) in steps {
                let element = if len % 3 == 0 { len.to_string().into_bytes() } else { vec![op; len] };
                let at = index.index(model.len() + 1);
                let place = chunk.place_of(at);
                match op {
                    0 | 1 => { chunk.push_back(&element); model.push(element); }
                    2 | 3 => { chunk.push_front(&element); model.insert(0, element); }
                    4 => { chunk.insert(place, &element); model.insert(at, element); }
                    5 if at < model.len() => { chunk.replace(place, &element); model[at] = element; }
                    6 => {
                        let end = (at + len % 4).min(model.len());
                        chunk.remove(place..chunk.place_of(end));
                        model.drain(at..end);
                    }
                    7 => {
                        let tail = chunk.split_off(place);
                        prop_assert_eq!(elements(&tail), &model[at..]);
                        prop_assert_eq!(elements(&chunk), &model[..at]);
                        chunk.append(&tail);
                    }
                    8 => {
                        let doomed: Vec<usize> = (0..model.len()).step_by(2).map(|n| chunk.place_of(n)).collect();
                        chunk.remove_each(&doomed);
                        let mut n = 0;
                        model.retain(|_| { n += 1; n % 2 == 0 });
                    }
                    _ => {}
                }
                prop_assert_eq!(chunk.len(), model.len());
                prop_assert_eq!(elements(&chunk), model.clone());
                prop_assert_eq!(backwards(&chunk), model.clone());
                prop_assert_eq!(chunk.listpack, model.iter().map(|e| listpack_entry(e)).sum::<usize>());
            }
        }
    }
}
