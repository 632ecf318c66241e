//! Tests of the tables, their shares and the account of memory.

use super::place::{POSITION_BITS, table_at};
use super::*;

impl Database {
    /// The bytes of the database, counted one by one.
    pub(in crate::keyspace) fn recounted_bytes(&self) -> DatabaseBytes {
        let tables: usize = self.tables.iter().map(|table| block(table.allocation_size())).sum();
        let of_entry = |entry: &Entry| entry.key_bytes() + entry.value.heap_bytes();
        DatabaseBytes {
            data: self.entries.heap_bytes() + self.entries(None).map(of_entry).sum::<usize>(),
            overhead: vec_heap_bytes(&self.tables)
                + tables
                + self.deadlines.heap_bytes()
                + self.marks.heap_bytes(),
        }
    }
}

#[test]
fn tables_follow_the_order_of_scan_and_grow_towards_its_end() {
    let end = (1 << POSITION_BITS) - 1;
    assert_eq!((table_at(0), table_at(end)), (0, TABLES - 1));
    let mut share = vec![0; TABLES];
    let mut last = 0;
    for step in 0..1 << 20 {
        let table = table_at(step << (POSITION_BITS - 20));
        assert!(table == last || table == last + 1, "{table} after {last}");
        share[table] += 1;
        last = table;
    }
    assert!(share.iter().all(|&share| (800..1400).contains(&share)), "{share:?}");
    assert!(share[0] < share[TABLES - 1], "the first tables have the smallest spans: {share:?}");
}
