//! Values in pages, at indices that the slab chooses.

use super::{Pages, Store};
use crate::memory::vec_heap_bytes;

/// A slab of `V` in pages of `PAGE` values. Every operation is O(1), except for the allocation of a page.
#[derive(Clone, Debug)]
pub struct Slab<V, const PAGE: usize> {
    pages: Pages<V, PAGE>,
    /// The free slots of each page.
    rooms: Vec<Room>,
    /// Pages with room, in no order. New values go to the last one.
    roomy: Vec<u32>,
    /// The page that became empty last. It is kept, so that a value that comes and goes does not allocate each time.
    spare: u32,
    /// Bytes of heap that the lists of free slots hold.
    free_bytes: usize,
}

#[derive(Clone, Debug, Default)]
struct Room {
    /// Slots that have been in use and are free.
    free: Vec<u16>,
    /// The number of slots that have ever been in use since the page was made. Later slots never were.
    begun: u32,
}

impl Room {
    fn is_unused(&self) -> bool {
        self.free.len() == self.begun as usize
    }

    fn is_full(&self, size: usize) -> bool {
        self.begun as usize == size && self.free.is_empty()
    }

    /// Makes room for more free slots, at most `size`; returns the growth in bytes.
    #[cold]
    fn grow(&mut self, size: usize) -> usize {
        let before = vec_heap_bytes(&self.free);
        self.free.reserve_exact((self.free.len() * 2).max(4).min(size) - self.free.len());
        vec_heap_bytes(&self.free) - before
    }
}

impl<V: Default, const PAGE: usize> Slab<V, PAGE> {
    /// The exclusive limit of indices: an index has a spare bit, and `index + 1` cannot overflow.
    const END: u32 = u32::MAX >> 1;

    /// An empty slab.
    pub const fn new() -> Self {
        const { assert!(PAGE.is_power_of_two() && PAGE <= 1 << 16) }
        Slab { pages: Pages::new(), rooms: Vec::new(), roomy: Vec::new(), spare: 0, free_bytes: 0 }
    }

    /// The exclusive limit of the present indices.
    pub fn end(&self) -> u32 {
        (self.rooms.len() * PAGE) as u32
    }

    /// Bytes of the free slots, if `used` slots are in use. New values take these first. O(1).
    pub fn free_bytes(&self, used: usize) -> usize {
        self.pages.free_bytes(used)
    }

    /// The value at an index. A free slot holds a default or stale value. `None`: there is no such page.
    pub fn find(&self, index: u32) -> Option<&V> {
        self.pages.find(index)
    }

    /// Whether no value was ever inserted. O(1).
    pub fn is_empty(&self) -> bool {
        self.rooms.is_empty()
    }

    /// Stores `value` and returns its index, which stays valid until it is removed.
    ///
    /// # Panics
    /// Panics if the slab holds 2^31 values. That would be tens of GiB of timers, so memory ends first.
    #[inline]
    pub fn insert(&mut self, value: V) -> u32 {
        let at = match self.roomy.last() {
            Some(&at) => at,
            None => self.grow(),
        };
        let room = &mut self.rooms[at as usize];
        let within = match room.free.pop() {
            Some(within) => u32::from(within),
            None => {
                room.begun += 1;
                room.begun - 1
            }
        };
        if room.is_full(PAGE) {
            self.roomy.pop();
        }
        let index = at * PAGE as u32 + within;
        *self.pages.make(index) = value;
        index
    }

    /// Adds an empty page and returns its number.
    #[cold]
    fn grow(&mut self) -> u32 {
        let at = self.rooms.len() as u32;
        assert!(at < Self::END / PAGE as u32, "a slab holds fewer than 2^31 values");
        self.rooms.push(Room::default());
        self.roomy.push(at);
        at
    }
}

impl<V: Default, const PAGE: usize> Default for Slab<V, PAGE> {
    fn default() -> Self {
        Slab::new()
    }
}

impl<V: Default, const PAGE: usize> Store<V> for Slab<V, PAGE> {
    #[inline]
    fn remove(&mut self, index: u32) {
        let at = index / PAGE as u32;
        let room = &mut self.rooms[at as usize];
        if room.is_full(PAGE) {
            self.roomy.push(at);
        }
        if room.free.len() == room.free.capacity() {
            self.free_bytes += room.grow(PAGE);
        }
        room.free.push((index % PAGE as u32) as u16);
        if room.is_unused() {
            let before = std::mem::replace(&mut self.spare, at);
            if before != at && self.rooms[before as usize].is_unused() {
                let gone = std::mem::take(&mut self.rooms[before as usize]);
                self.free_bytes -= vec_heap_bytes(&gone.free);
                self.pages.give_back(before);
            }
        }
    }

    #[inline]
    fn get(&self, index: u32) -> &V {
        self.pages.get(index)
    }

    #[inline]
    fn get_mut(&mut self, index: u32) -> &mut V {
        self.pages.get_mut(index)
    }

    fn heap_bytes(&self) -> usize {
        self.pages.heap_bytes() + self.free_bytes + vec_heap_bytes(&self.rooms) + vec_heap_bytes(&self.roomy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_reused_before_the_slab_grows() {
        let mut slab = Slab::<u32, 4>::new();
        let indices: Vec<u32> = (0..8).map(|value| slab.insert(value)).collect();
        assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 7]);
        slab.remove(2);
        slab.remove(5);
        let mut again = [slab.insert(20), slab.insert(50)];
        again.sort_unstable();
        assert_eq!(again, [2, 5]);
        assert_eq!(slab.insert(8), 8);
        assert_eq!((*slab.get(1), *slab.get(7)), (1, 7));
    }

    #[test]
    fn the_counted_pages_and_free_bytes_equal_the_present_ones() {
        let mut slab = Slab::<u64, 64>::new();
        let is_right = |slab: &Slab<u64, 64>| {
            let pages = slab.pages.all.iter().flatten().count();
            let free: usize = slab.rooms.iter().map(|room| vec_heap_bytes(&room.free)).sum();
            (slab.pages.count, slab.free_bytes) == (pages, free)
        };
        for step in 0..3_000_u32 {
            slab.insert(0);
            if step % 3 > 0 {
                slab.remove(step / 3);
            }
            assert!(is_right(&slab), "{step}");
        }
        assert!(slab.pages.count > 15);
    }

    #[test]
    fn an_empty_page_is_given_back_and_used_again() {
        let mut slab = Slab::<u64, 1024>::new();
        let indices: Vec<u32> = (0..10_000).map(|value| slab.insert(value)).collect();
        let full = slab.heap_bytes();
        for &index in &indices {
            slab.remove(index);
        }
        assert!(slab.heap_bytes() < full / 5, "{} of {full}", slab.heap_bytes());
        for value in 0..10_000 {
            assert!(slab.insert(value) < 10_240);
        }
    }
}
