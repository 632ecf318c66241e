//! The deadlines of a hash's fields. The earliest is found at once; each is also found by the position of its field.

use crate::memory::vec_heap_bytes;
use lockwheel_resp::allocation;

/// The mark of a field without a deadline.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// The instant of the deadline, in milliseconds.
    pub(super) at_ms: i64,
    /// The number of its making, among all deadlines. It wraps around.
    pub(super) made: u32,
    position: u32,
}

impl Due {
    fn is_before(&self, other: &Due) -> bool {
        let is_made_first = (self.made.wrapping_sub(other.made) as i32) < 0;
        self.at_ms < other.at_ms || (self.at_ms == other.at_ms && is_made_first)
    }
}

/// A binary heap of deadlines, the earliest on top: 16 bytes each, and 4 bytes a field up to the last that had one.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    heap: Vec<Due>,
    /// The index in the heap by position, or [`NONE`].
    places: Vec<u32>,
}

impl Deadlines {
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        vec_heap_bytes(&self.heap) + vec_heap_bytes(&self.places)
    }

    /// The earliest deadline. O(1).
    pub(super) fn first(&self) -> Option<Due> {
        self.heap.first().copied()
    }

    /// Whether no deadline is later than `until_ms`. O(deadlines), less if one is later.
    pub(super) fn are_over(&self, until_ms: i64) -> bool {
        self.heap.iter().all(|due| due.at_ms <= until_ms)
    }

    pub(super) fn first_position(&self) -> Option<usize> {
        self.heap.first().map(|due| due.position as usize)
    }

    /// The deadline of the field at a position. O(1).
    pub(super) fn at(&self, position: usize) -> Option<i64> {
        self.place(position).map(|place| self.heap[place].at_ms)
    }

    /// Sets the deadline of the field at a position, replacing any earlier one. O(log deadlines).
    pub(super) fn set(&mut self, position: usize, at_ms: i64, made: u32) {
        self.clear(position);
        if self.places.len() <= position {
            self.places.resize(position + 1, NONE);
        }
        // Tables have fewer than 2^32 entries.
        self.heap.push(Due { at_ms, made, position: position as u32 });
        self.rise(self.heap.len() - 1);
    }

    /// Removes the deadline of the field at a position; returns whether it had one. O(log deadlines).
    pub(super) fn clear(&mut self, position: usize) -> bool {
        let Some(place) = self.place(position) else { return false };
        self.places[position] = NONE;
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.note(place);
            self.sink(place);
            self.rise(place);
        }
        if self.heap.capacity() > 32 && self.heap.len() < self.heap.capacity() / 4 {
            let room = 2 * self.heap.len();
            allocation::shrink_to(&mut self.heap, room);
        }
        true
    }

    /// Notes that the field at `position`, without a deadline, goes, and that at `last` takes its position.
    pub(super) fn moved(&mut self, last: usize, position: usize) {
        if let Some(place) = self.place(last)
            && last != position
        {
            self.places[position] = place as u32;
            self.heap[place].position = position as u32;
        }
        self.places.truncate(last);
    }

    /// Sets the number of making of all deadlines.
    pub(super) fn date(&mut self, made: u32) {
        self.heap.iter_mut().for_each(|due| due.made = made);
    }

    fn place(&self, position: usize) -> Option<usize> {
        self.places.get(position).filter(|&&place| place != NONE).map(|&place| place as usize)
    }

    /// Records the index of a deadline.
    fn note(&mut self, place: usize) {
        let position = self.heap[place].position as usize;
        self.places[position] = place as u32;
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if !self.heap[place].is_before(&self.heap[parent]) {
                break;
            }
            self.heap.swap(place, parent);
            self.note(place);
            place = parent;
        }
        self.note(place);
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let [left, right] = [2 * place + 1, 2 * place + 2];
            let mut first = place;
            for child in [left, right] {
                if child < self.heap.len() && self.heap[child].is_before(&self.heap[first]) {
                    first = child;
                }
            }
            if first == place {
                return;
            }
            self.heap.swap(place, first);
            self.note(place);
            self.note(first);
            place = first;
        }
    }
}
