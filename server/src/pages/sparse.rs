//! Values at places that somebody else gives out.

use super::Store;

/// Values in pages of `PAGE`, beside a [`Slab`](super::Slab) whose indices name them: what only some of its values
/// have. A page without any takes no memory. Every operation is O(1), but for the allocation of a page.
#[derive(Clone, Debug)]
pub struct Sparse<V, const PAGE: usize> {
    pages: Vec<Page<V>>,
    /// The page that emptied last. It is kept, lest a value that comes and goes allocate each time.
    spare: u32,
}

#[derive(Clone, Debug)]
struct Page<V> {
    /// None, or values up to the highest place that was in use.
    values: Vec<V>,
    used: u32,
}

impl<V: Copy, const PAGE: usize> Sparse<V, PAGE> {
    /// An empty one.
    pub const fn new() -> Self {
        const { assert!(PAGE.is_power_of_two()) }
        Sparse { pages: Vec::new(), spare: 0 }
    }

    /// Keeps `value` at `index`, which is not in use. `vacant` fills the places before it that never were.
    #[inline]
    pub fn insert_at(&mut self, index: u32, value: V, vacant: V) {
        let (at, within) = (index as usize / PAGE, index as usize % PAGE);
        if at >= self.pages.len() {
            self.pages.resize_with(at + 1, || Page::NEW);
        }
        let page = &mut self.pages[at];
        page.used += 1;
        match page.values.get_mut(within) {
            Some(place) => *place = value,
            None => {
                // The first page grows by doubling, for the many that stay small.
                if page.values.capacity() == 0 && at > 0 {
                    page.values.reserve_exact(PAGE);
                }
                page.values.resize(within, vacant);
                page.values.push(value);
            }
        }
    }
}

impl<V: Copy, const PAGE: usize> Default for Sparse<V, PAGE> {
    fn default() -> Self {
        Sparse::new()
    }
}

impl<V: Copy, const PAGE: usize> Store<V> for Sparse<V, PAGE> {
    #[inline]
    fn get(&self, index: u32) -> &V {
        &self.pages[index as usize / PAGE].values[index as usize % PAGE]
    }

    #[inline]
    fn get_mut(&mut self, index: u32) -> &mut V {
        &mut self.pages[index as usize / PAGE].values[index as usize % PAGE]
    }

    #[inline]
    fn remove(&mut self, index: u32) {
        let at = index / PAGE as u32;
        let page = &mut self.pages[at as usize];
        page.used -= 1;
        if page.used == 0 {
            let before = std::mem::replace(&mut self.spare, at);
            if before != at && self.pages[before as usize].used == 0 {
                self.pages[before as usize] = Page::NEW;
            }
        }
    }

    fn heap_bytes(&self) -> usize {
        let values: usize = self.pages.iter().map(|page| page.values.capacity()).sum();
        values * size_of::<V>() + self.pages.capacity() * size_of::<Page<V>>()
    }
}

impl<V> Page<V> {
    const NEW: Page<V> = Page { values: Vec::new(), used: 0 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_in_use_take_memory() {
        let mut sparse = Sparse::<u64, 1024>::new();
        sparse.insert_at(5000, 7, 0);
        sparse.insert_at(5003, 8, 0);
        assert_eq!((*sparse.get(5000), *sparse.get(5001), *sparse.get(5003)), (7, 0, 8));
        assert!(sparse.heap_bytes() < 3 * 1024 * 8, "{}", sparse.heap_bytes());
        (0..4096).for_each(|index| sparse.insert_at(index, index.into(), 0));
        assert!((0..4096).all(|index| *sparse.get(index) == u64::from(index)));
        let full = sparse.heap_bytes();
        (0..4096).for_each(|index| sparse.remove(index));
        sparse.remove(5000);
        sparse.remove(5003);
        assert!(sparse.heap_bytes() < full / 3, "{} of {full}", sparse.heap_bytes());
        sparse.insert_at(5003, 9, 0);
        assert_eq!(*sparse.get(5003), 9);
    }
}
