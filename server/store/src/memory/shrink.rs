//! Shrinking of tables and deques, if memory suffices to move the rest. Standard operations would abort.

use hashbrown::HashTable;
use lockwheel_resp::allocation;
use std::collections::VecDeque;

/// Gives back a table's room for more than `capacity` entries, unless memory for the move is short. O(entries).
pub fn shrink_table<T>(table: &mut HashTable<T>, capacity: usize, hash: impl Fn(&T) -> u64) {
    shrink_table_if(table, capacity, hash, |bytes| allocation::check_copies(bytes).is_ok());
}

fn shrink_table_if<T>(
    table: &mut HashTable<T>,
    capacity: usize,
    hash: impl Fn(&T) -> u64,
    fits: impl FnOnce(usize) -> bool,
) {
    if fits(table_bytes::<T>(capacity.max(table.len()))) {
        table.shrink_to(capacity, hash);
    }
}

/// The most bytes of a table for `entries` entries: a power of two of slots, one in eight free.
fn table_bytes<T>(entries: usize) -> usize {
    /// Bytes of the control group behind the slots, and of their alignment.
    const AROUND: usize = 64;
    let places = (entries.saturating_mul(8) / 7 + 1).next_power_of_two().max(16);
    places.saturating_mul(size_of::<T>() + 1).saturating_add(AROUND)
}

/// Gives back the room of a deque for more than `capacity` elements, unless memory to move the elements is short.
pub fn shrink_deque<T>(deque: &mut VecDeque<T>, capacity: usize) {
    if allocation::check_copies(capacity.max(deque.len()) * size_of::<T>()).is_ok() {
        deque.shrink_to(capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: &u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn a_table_shrinks_if_there_is_memory_for_the_smaller_one() {
        let mut table = HashTable::with_capacity(100_000);
        (0..100).for_each(|n| _ = table.insert_unique(hash(&n), n, hash));
        let before = table.allocation_size();
        let mut asked = 0;
        shrink_table_if(&mut table, 1000, hash, |bytes| {
            asked = bytes;
            false
        });
        assert_eq!(table.allocation_size(), before);
        shrink_table(&mut table, 1000, hash);
        assert!(table.allocation_size() <= asked, "{} {asked}", table.allocation_size());
        assert!((0..100).all(|n| table.find(hash(&n), |other| *other == n).is_some()));
    }

    #[test]
    fn no_table_takes_more_than_was_asked_for() {
        for entries in (0..200).chain([1000, 1791, 1792, 1793, 5000]) {
            let table = HashTable::<u64>::with_capacity(entries);
            assert!(table.allocation_size() <= table_bytes::<u64>(entries), "{entries}");
        }
    }

    #[test]
    fn a_deque_releases_unused_memory() {
        let mut deque: VecDeque<u64> = VecDeque::with_capacity(100_000);
        deque.extend(0..100);
        shrink_deque(&mut deque, 1000);
        assert!(deque.capacity() <= 1000 && deque.len() == 100);
    }
}
