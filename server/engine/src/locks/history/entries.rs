//! The entries of a ring, in pages. Growth copies no entries, and the pages of removed entries are reused.

use super::entry::Entry;
use lockwheel_store::memory::block;
use std::collections::VecDeque;

/// The approximate number of pages of a full ring. At most one page's share of the memory is unused.
const PAGES: usize = 64;
/// The least and the greatest size of a page, as powers of two.
const PAGE_BITS: [u32; 2] = [4, 10];

/// Entries in order. New entries are added at the end, and old ones are removed at the front.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    /// The pages. All but the last are full, and none is empty.
    pages: VecDeque<Vec<Entry>>,
    /// The number of entries of a page, as a power of two.
    page_bits: u32,
    /// The number of removed entries of the first page.
    gone: usize,
    len: usize,
    /// An empty page for reuse.
    spare: Option<Vec<Entry>>,
}

impl Entries {
    /// Returns an empty list for up to `most` entries, without room for any yet.
    pub(super) fn new(most: usize) -> Self {
        let [least, greatest] = PAGE_BITS;
        let page_bits = (most / PAGES).checked_ilog2().unwrap_or(0).clamp(least, greatest);
        Entries { pages: VecDeque::new(), page_bits, gone: 0, len: 0, spare: None }
    }

    /// Changes the page size for up to `most` entries. O(n).
    pub(super) fn resize(&mut self, most: usize) {
        let mut resized = Entries::new(most);
        while let Some(entry) = self.pop() {
            resized.push(entry);
        }
        *self = resized;
    }

    #[inline]
    fn page(&self) -> usize {
        1 << self.page_bits
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the page of the entry at this place, and its place in the page.
    #[inline]
    fn find(&self, at: usize) -> Option<(usize, usize)> {
        if at >= self.len {
            return None;
        }
        let at = self.gone + at;
        Some((at >> self.page_bits, at & (self.page() - 1)))
    }

    /// Returns the entry at this place, counted from the first. O(1).
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        let (page, at) = self.find(at)?;
        self.pages.get(page)?.get(at)
    }

    /// Returns the entry at this place for modification. O(1).
    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Entry> {
        let (page, at) = self.find(at)?;
        self.pages.get_mut(page)?.get_mut(at)
    }

    #[inline]
    pub(super) fn last(&self) -> Option<&Entry> {
        self.pages.back()?.last()
    }

    #[inline]
    pub(super) fn push(&mut self, entry: Entry) {
        self.len += 1;
        match self.pages.back_mut() {
            Some(page) if page.len() < page.capacity() => page.push(entry),
            _ => self.push_to_new_page(entry),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_to_new_page(&mut self, entry: Entry) {
        let mut page = self.spare.take().unwrap_or_else(|| Vec::with_capacity(self.page()));
        page.push(entry);
        self.pages.push_back(page);
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        let page = self.pages.front_mut()?;
        let entry = *page.get(self.gone)?;
        (self.gone, self.len) = (self.gone + 1, self.len - 1);
        if self.gone == page.len() {
            page.clear();
            (self.spare, self.gone) = (self.pages.pop_front(), 0);
        }
        Some(entry)
    }

    /// Returns the entries from this place on, in order. O(1) for the first.
    pub(super) fn from(&self, at: usize) -> impl DoubleEndedIterator<Item = &Entry> + ExactSizeIterator {
        (at.min(self.len)..self.len).map(|at| self.get(at).expect("there are as many"))
    }

    /// Returns the memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        let pages = self.pages.len() + usize::from(self.spare.is_some());
        let page = block(self.page() * size_of::<Entry>());
        block(self.pages.capacity() * size_of::<Vec<Entry>>()) + pages * page
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::{Cause, Event, Mode, Traits};
    use super::super::names::Name;
    use super::super::times::Since;
    use super::*;

    fn numbered(grant: u64) -> Entry {
        Entry {
            grant,
            client: 0,
            ttl_ms: 0,
            holds: 0,
            total: 0,
            since: Since::default(),
            waited_ms: 0,
            key: Name::NONE,
            owner: Name::NONE,
            client_name: Name::NONE,
            by: Name::NONE,
            text: Name::NONE,
            event: Event::Acquired,
            cause: Cause::None,
            mode: Mode::None,
            traits: Traits::default(),
        }
    }

    const PAGE: usize = 128;

    fn empty() -> Entries {
        let entries = Entries::new(PAGES * PAGE);
        assert_eq!(entries.page(), PAGE);
        entries
    }

    /// Entries are found at their places, whatever is added and removed.
    #[test]
    fn entries_are_appended_and_removed_in_order() {
        let (mut entries, mut first, mut next) = (empty(), 0, 0);
        let steps =
            [(1, 1), (PAGE, 0), (0, PAGE), (3 * PAGE + 7, PAGE - 1), (PAGE, 2), (0, 3 * PAGE), (5, 5)];
        for (most, (come, go)) in steps.into_iter().enumerate() {
            for _ in 0..come {
                entries.push(numbered(next));
                next += 1;
            }
            for _ in 0..go {
                assert_eq!(entries.pop().map(|entry| entry.grant), Some(first));
                first += 1;
            }
            let len = (next - first) as usize;
            assert_eq!(entries.last().map(|last| last.grant + 1), (len > 0).then_some(next));
            assert!(entries.from(0).map(|entry| entry.grant).eq(first..next));
            assert!(entries.from(3).rev().map(|entry| entry.grant).eq((first + 3..next).rev()));
            for at in [len, len + PAGE, usize::MAX] {
                assert!(entries.get(at).is_none() && entries.get_mut(at).is_none());
                assert_eq!(entries.from(at).len(), 0);
            }
            if come == PAGE {
                entries.resize(most << 16);
                assert!(entries.from(0).map(|entry| entry.grant).eq(first..next));
            }
        }
        (first..next).for_each(|_| assert!(entries.pop().is_some()));
        assert!(entries.pop().is_none() && entries.last().is_none());
    }

    /// A full ring allocates no more memory for new entries.
    #[test]
    fn pages_are_used_again() {
        let mut entries = empty();
        (0..4 * PAGE as u64).for_each(|n| entries.push(numbered(n)));
        let before = entries.memory();
        for n in 0..10 * PAGE as u64 {
            entries.pop();
            entries.push(numbered(n));
            let more = entries.memory() - before;
            assert!(more <= 2 * block(PAGE * size_of::<Entry>()), "{more} bytes");
        }
        while entries.pop().is_some() {}
        entries.resize(PAGE);
        assert_eq!(entries.memory(), 0);
    }

    /// Pages are small if there may be few entries, and never large.
    #[test]
    fn the_page_size_follows_the_maximum_number_of_entries() {
        for (most, page) in [(0, 16), (1000, 16), (4096, 64), (65_536, 1024), (usize::MAX, 1024)] {
            assert_eq!(Entries::new(most).page(), page);
        }
    }
}
