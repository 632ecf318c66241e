//! Values at indices that the caller chooses.

use super::{Pages, Store};
use crate::memory::of_vec;

/// Values in pages of `PAGE`, parallel to a [`Slab`](super::Slab) whose indices name them, for what only some of its
/// values have. A page without any takes no memory. Every operation is O(1), but for the allocation of a page.
#[derive(Clone, Debug)]
pub struct Sparse<V, const PAGE: usize> {
    pages: Pages<V, PAGE>,
    /// How many places of each page are in use.
    used: Vec<u32>,
    /// The page that emptied last. It is kept, so that a value that comes and goes does not allocate each time.
    spare: u32,
}

impl<V: Default, const PAGE: usize> Sparse<V, PAGE> {
    /// An empty one.
    pub const fn new() -> Self {
        const { assert!(PAGE.is_power_of_two()) }
        Sparse { pages: Pages::new(), used: Vec::new(), spare: 0 }
    }

    /// The values of all pages, also those that are not in use: as they were when they were removed, or never were.
    pub fn iter(&self) -> impl Iterator<Item = &V> {
        self.pages.all.iter().flatten().flat_map(|page| page.iter())
    }

    /// The indices of all pages of which a place is in use, also those that are not.
    pub fn indices_in_used_pages(&self) -> impl Iterator<Item = u32> {
        let used = self.used.iter().enumerate().filter(|(_, used)| **used > 0);
        used.flat_map(|(page, _)| (page * PAGE) as u32..((page + 1) * PAGE) as u32)
    }

    /// The first page at or after this one, and around, of which a place is in use.
    pub fn used_page(&self, from: usize) -> Option<std::ops::Range<u32>> {
        let is_used = |page: &usize| self.used[*page] > 0;
        let page =
            (from..self.used.len()).find(is_used).or_else(|| (0..from.min(self.used.len())).find(is_used))?;
        Some((page * PAGE) as u32..((page + 1) * PAGE) as u32)
    }

    /// Bytes of the places in pages that are free, where `used` are not. O(1).
    pub fn free_bytes(&self, used: usize) -> usize {
        self.pages.free_bytes(used)
    }

    /// How many pages there are, used or not.
    pub fn pages(&self) -> usize {
        self.used.len()
    }

    /// Keeps `value` at `index`, which is not in use.
    #[inline]
    pub fn insert_at(&mut self, index: u32, value: V) {
        let at = index as usize / PAGE;
        if at >= self.used.len() {
            self.used.resize(at + 1, 0);
        }
        self.used[at] += 1;
        *self.pages.make(index) = value;
    }
}

impl<V: Default, const PAGE: usize> Default for Sparse<V, PAGE> {
    fn default() -> Self {
        Sparse::new()
    }
}

impl<V: Default, const PAGE: usize> Store<V> for Sparse<V, PAGE> {
    #[inline]
    fn get(&self, index: u32) -> &V {
        self.pages.get(index)
    }

    #[inline]
    fn get_mut(&mut self, index: u32) -> &mut V {
        self.pages.get_mut(index)
    }

    #[inline]
    fn remove(&mut self, index: u32) {
        let at = index / PAGE as u32;
        self.used[at as usize] -= 1;
        if self.used[at as usize] == 0 {
            let before = std::mem::replace(&mut self.spare, at);
            if before != at && self.used[before as usize] == 0 {
                self.pages.give_back(before);
            }
        }
    }

    fn heap_bytes(&self) -> usize {
        self.pages.heap_bytes() + of_vec(&self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_in_use_take_memory() {
        let mut sparse = Sparse::<u64, 1024>::new();
        sparse.insert_at(5000, 7);
        sparse.insert_at(5003, 8);
        assert_eq!((*sparse.get(5000), *sparse.get(5001), *sparse.get(5003)), (7, 0, 8));
        assert!(sparse.indices_in_used_pages().eq(4096..5120));
        assert!(sparse.heap_bytes() < 3 * 1024 * 8, "{}", sparse.heap_bytes());
        (0..4096).for_each(|index| sparse.insert_at(index, index.into()));
        assert!((0..4096).all(|index| *sparse.get(index) == u64::from(index)));
        let full = sparse.heap_bytes();
        (0..4096).for_each(|index| sparse.remove(index));
        sparse.remove(5000);
        sparse.remove(5003);
        assert!(sparse.heap_bytes() < full / 3, "{} of {full}", sparse.heap_bytes());
        sparse.insert_at(5003, 9);
        assert_eq!(*sparse.get(5003), 9);
    }
}
