//! Values in pages, at places that the store gives out.

use super::Store;

/// A slab of `V` in pages of `PAGE` values. Every operation is O(1), but for the allocation of a page.
#[derive(Clone, Debug)]
pub struct Slab<V, const PAGE: usize> {
    pages: Vec<Page<V>>,
    /// Pages with room, in no order; values are put in the last one.
    roomy: Vec<u32>,
    /// The page that emptied last. It is kept, lest a value that comes and goes allocate each time.
    spare: u32,
}

#[derive(Clone, Debug)]
struct Page<V> {
    values: Vec<V>,
    /// Places in `values` that are free.
    free: Vec<u16>,
}

impl<V, const PAGE: usize> Slab<V, PAGE> {
    /// No index reaches this, so that an index has a spare bit and `index + 1` cannot overflow.
    const END: u32 = u32::MAX >> 1;

    /// An empty slab.
    pub const fn new() -> Self {
        const { assert!(PAGE.is_power_of_two() && PAGE <= 1 << 16) }
        Slab { pages: Vec::new(), roomy: Vec::new(), spare: 0 }
    }

    /// Whether nothing was ever put in. O(1).
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Keeps `value` and returns its index, which stays valid until it is removed.
    ///
    /// # Panics
    /// When the slab holds 2^31 values: tens of GiB of timers, so memory ends first.
    pub fn insert(&mut self, value: V) -> u32 {
        let at = match self.roomy.last() {
            Some(&at) => at,
            None => self.grow(),
        };
        let page = &mut self.pages[at as usize];
        let within = match page.free.pop() {
            Some(within) => {
                page.values[within as usize] = value;
                within as usize
            }
            None => {
                // The first page grows by doubling, for the many slabs that stay small.
                if page.values.capacity() == 0 && at > 0 {
                    page.values.reserve_exact(PAGE);
                }
                page.values.push(value);
                page.values.len() - 1
            }
        };
        if page.is_full(PAGE) {
            self.roomy.pop();
        }
        at * PAGE as u32 + within as u32
    }

    /// Adds an empty page and returns its number.
    fn grow(&mut self) -> u32 {
        let at = self.pages.len() as u32;
        assert!(at < Self::END / PAGE as u32, "a slab holds fewer than 2^31 values");
        self.pages.push(Page::NEW);
        self.roomy.push(at);
        at
    }
}

impl<V, const PAGE: usize> Default for Slab<V, PAGE> {
    fn default() -> Self {
        Slab::new()
    }
}

impl<V, const PAGE: usize> Store<V> for Slab<V, PAGE> {
    #[inline]
    fn remove(&mut self, index: u32) {
        let at = index / PAGE as u32;
        let page = &mut self.pages[at as usize];
        if page.is_full(PAGE) {
            self.roomy.push(at);
        }
        page.free.push((index % PAGE as u32) as u16);
        if page.is_unused() {
            let before = std::mem::replace(&mut self.spare, at);
            if before != at && self.pages[before as usize].is_unused() {
                self.pages[before as usize] = Page::NEW;
            }
        }
    }

    #[inline]
    fn get(&self, index: u32) -> &V {
        &self.pages[index as usize / PAGE].values[index as usize % PAGE]
    }

    #[inline]
    fn get_mut(&mut self, index: u32) -> &mut V {
        &mut self.pages[index as usize / PAGE].values[index as usize % PAGE]
    }

    fn heap_bytes(&self) -> usize {
        let pages =
            self.pages.iter().map(|page| page.values.capacity() * size_of::<V>() + page.free.capacity() * 2);
        pages.sum::<usize>() + self.pages.capacity() * size_of::<Page<V>>() + self.roomy.capacity() * 4
    }
}

impl<V> Page<V> {
    const NEW: Page<V> = Page { values: Vec::new(), free: Vec::new() };

    fn is_unused(&self) -> bool {
        self.free.len() == self.values.len()
    }

    fn is_full(&self, size: usize) -> bool {
        self.values.len() == size && self.free.is_empty()
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
