//! Values at indices that the caller chooses.

use super::{Store, no_page};
use crate::memory::{block, vec_heap_bytes};

/// Values in pages of `PAGE`, parallel to a [`Slab`](super::Slab) that provides the indices, for data that only some
/// have. A page without values takes no memory. O(1), except for the allocation of a page.
#[derive(Clone, Debug)]
pub struct Sparse<V, const PAGE: usize> {
    pages: Vec<Page<V, PAGE>>,
    count: usize,
    /// The page that became empty last. It is kept, so that a value that comes and goes does not allocate each time.
    spare: u32,
}

/// A page, made when an index in it is first used, and the number of its slots in use.
#[derive(Clone, Debug)]
struct Page<V, const PAGE: usize> {
    used: u32,
    values: Option<Box<[V; PAGE]>>,
}

impl<V: Default, const PAGE: usize> Sparse<V, PAGE> {
    /// Makes an empty store.
    pub const fn new() -> Self {
        const { assert!(PAGE.is_power_of_two()) }
        Sparse { pages: Vec::new(), count: 0, spare: 0 }
    }

    /// The values of all pages, including unused slots: these have stale or default values.
    pub fn iter(&self) -> impl Iterator<Item = &V> {
        self.pages.iter().filter_map(|page| page.values.as_ref()).flat_map(|values| values.iter())
    }

    /// All indices of the pages that have a slot in use, including unused slots.
    pub fn indices_in_used_pages(&self) -> impl Iterator<Item = u32> {
        let used = self.pages.iter().enumerate().filter(|(_, page)| page.used > 0);
        used.flat_map(|(page, _)| (page * PAGE) as u32..((page + 1) * PAGE) as u32)
    }

    /// The indices of the first page from this one on, wrapping around, that has a slot in use.
    pub fn used_page(&self, from: usize) -> Option<std::ops::Range<u32>> {
        let is_used = |page: &usize| self.pages[*page].used > 0;
        let len = self.pages.len();
        let page = (from..len).find(is_used).or_else(|| (0..from.min(len)).find(is_used))?;
        Some((page * PAGE) as u32..((page + 1) * PAGE) as u32)
    }

    /// Bytes of the free slots in pages, if `used` slots are in use. O(1).
    pub fn free_bytes(&self, used: usize) -> usize {
        (self.count * PAGE).saturating_sub(used) * size_of::<V>()
    }

    /// The number of pages, with or without values.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Stores `value` at `index`, which must not be in use.
    #[inline(always)]
    pub fn insert_at(&mut self, index: u32, value: V) {
        match self.pages.get_mut(index as usize / PAGE) {
            Some(Page { used, values: Some(values) }) => {
                *used += 1;
                values[index as usize % PAGE] = value;
            }
            _ => self.insert_in_new_page(index, value),
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_in_new_page(&mut self, index: u32, value: V) {
        let at = index as usize / PAGE;
        if at >= self.pages.len() {
            self.pages.resize_with(at + 1, || Page { used: 0, values: None });
        }
        let mut values: Box<[V]> = std::iter::repeat_with(V::default).take(PAGE).collect();
        values[index as usize % PAGE] = value;
        self.pages[at] = Page { used: 1, values: values.try_into().ok() };
        self.count += 1;
    }

    /// Keeps a page that has become empty, in place of the one kept before.
    #[cold]
    #[inline(never)]
    fn emptied(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.spare, at);
        let page = &mut self.pages[before as usize];
        if page.used == 0 {
            self.count -= usize::from(page.values.take().is_some());
        }
    }
}

impl<V: Default + Copy, const PAGE: usize> Sparse<V, PAGE> {
    /// Frees `index`, which must be in use; returns its value.
    #[inline(always)]
    pub fn take(&mut self, index: u32) -> V {
        let Some(Page { used, values: Some(values) }) = self.pages.get_mut(index as usize / PAGE) else {
            no_page(index)
        };
        let value = values[index as usize % PAGE];
        *used -= 1;
        if *used == 0 && self.spare != index / PAGE as u32 {
            self.emptied(index / PAGE as u32);
        }
        value
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
        match self.pages.get(index as usize / PAGE) {
            Some(Page { values: Some(values), .. }) => &values[index as usize % PAGE],
            _ => no_page(index),
        }
    }

    #[inline]
    fn get_mut(&mut self, index: u32) -> &mut V {
        match self.pages.get_mut(index as usize / PAGE) {
            Some(Page { values: Some(values), .. }) => &mut values[index as usize % PAGE],
            _ => no_page(index),
        }
    }

    #[inline]
    fn remove(&mut self, index: u32) {
        let page = &mut self.pages[index as usize / PAGE];
        page.used -= 1;
        if page.used == 0 && self.spare != index / PAGE as u32 {
            self.emptied(index / PAGE as u32);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.count * block(size_of::<[V; PAGE]>()) + vec_heap_bytes(&self.pages)
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
