//! Stores in pages, indexed by `u32`. Growing never copies existing values, and an empty page is freed.

mod slab;
mod sparse;

use crate::memory::{block, vec_heap_bytes};
pub use slab::Slab;
pub use sparse::Sparse;

/// A store of values that are found by a `u32`.
pub trait Store<V> {
    /// The value at `index`. For a freed index that is not in use again, a stale value.
    ///
    /// # Panics
    /// Panics if `index` was never in use, or its page was given back.
    fn get(&self, index: u32) -> &V;

    /// The value at `index`, to be changed, under the conditions of [`get`](Self::get).
    fn get_mut(&mut self, index: u32) -> &mut V;

    /// Frees `index`, which must be in use. The value stays as it is until it is replaced or its page is freed.
    fn remove(&mut self, index: u32);

    /// Bytes of heap held. O(1).
    fn heap_bytes(&self) -> usize;
}

/// Pages of `PAGE` values, each made when an index in it is first used.
#[derive(Clone, Debug)]
struct Pages<V, const PAGE: usize> {
    all: Vec<Option<Box<[V; PAGE]>>>,
    count: usize,
}

impl<V: Default, const PAGE: usize> Pages<V, PAGE> {
    /// The value at an index whose page exists, in use or not.
    fn find(&self, index: u32) -> Option<&V> {
        let page = self.all.get(index as usize / PAGE)?.as_ref()?;
        Some(&page[index as usize % PAGE])
    }

    const fn new() -> Self {
        Pages { all: Vec::new(), count: 0 }
    }

    #[inline]
    fn get(&self, index: u32) -> &V {
        match self.all.get(index as usize / PAGE) {
            Some(Some(page)) => &page[index as usize % PAGE],
            _ => no_page(index),
        }
    }

    #[inline]
    fn get_mut(&mut self, index: u32) -> &mut V {
        match self.all.get_mut(index as usize / PAGE) {
            Some(Some(page)) => &mut page[index as usize % PAGE],
            _ => no_page(index),
        }
    }

    /// The value at `index`; makes its page if necessary.
    #[inline]
    fn make(&mut self, index: u32) -> &mut V {
        let at = index as usize / PAGE;
        if !matches!(self.all.get(at), Some(Some(_))) {
            self.add(at);
        }
        self.get_mut(index)
    }

    #[cold]
    fn add(&mut self, at: usize) {
        if at >= self.all.len() {
            self.all.resize_with(at + 1, || None);
        }
        let values: Box<[V]> = std::iter::repeat_with(V::default).take(PAGE).collect();
        self.all[at] = values.try_into().ok();
        self.count += 1;
    }

    fn give_back(&mut self, at: u32) {
        self.count -= usize::from(self.all[at as usize].take().is_some());
    }

    /// Bytes of the unused slots in pages of which `used` slots are in use.
    fn free_bytes(&self, used: usize) -> usize {
        (self.count * PAGE).saturating_sub(used) * size_of::<V>()
    }

    fn heap_bytes(&self) -> usize {
        self.count * block(size_of::<[V; PAGE]>()) + vec_heap_bytes(&self.all)
    }
}

#[cold]
fn no_page(index: u32) -> ! {
    panic!("{index} is not in use, nor anything near it");
}
