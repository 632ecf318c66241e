//! Stores in pages, named by a `u32`: growing never copies what is there, and a page that empties is given back.

mod slab;
mod sparse;

pub use slab::Slab;
pub use sparse::Sparse;

/// Where a value named by a `u32` is found.
pub trait Store<V> {
    /// The value at `index`; a stale one of a freed index that is not in use again.
    ///
    /// # Panics
    /// When `index` was never in use, or its page was given back.
    fn get(&self, index: u32) -> &V;

    /// As [`get`](Self::get), to change.
    fn get_mut(&mut self, index: u32) -> &mut V;

    /// Frees `index`, which must be in use. The value stays as it is until it is replaced or its page goes.
    fn remove(&mut self, index: u32);

    /// Bytes of heap held. O(pages).
    fn heap_bytes(&self) -> usize;
}
