//! Collection of members with scores from several collections.

use crate::values::integer::Text;
use crate::values::table::{Keyed, Table};

impl Keyed for (Text<'_>, f64) {
    fn key(&self) -> &[u8] {
        &self.0
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Borrowed members, each with a number, in the order of their first appearance. A member is found in O(1).
#[derive(Debug)]
pub struct Accumulator<'a>(Table<(Text<'a>, f64)>);

impl<'a> Accumulator<'a> {
    /// An empty accumulator. `seed` prevents clients from choosing members that are slow to find.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Table::with_capacity(0, seed))
    }

    /// Adds a member. An existing one gets the result of `combine` with the existing and the new number.
    pub fn add(&mut self, member: Text<'a>, number: f64, combine: impl FnOnce(f64, f64) -> f64) {
        if let Err(position) = self.0.insert_with(&member, || (member, number)) {
            self.0.change(position, |there| there.1 = combine(there.1, number));
        }
    }

    /// The number of a member.
    #[must_use]
    pub fn get(&self, member: &[u8]) -> Option<f64> {
        self.0.get(member).map(|there| there.1)
    }

    /// All members with their numbers, in order of first appearance.
    #[must_use]
    pub fn into_pairs(self) -> Vec<(Text<'a>, f64)> {
        self.0.into_entries()
    }
}
