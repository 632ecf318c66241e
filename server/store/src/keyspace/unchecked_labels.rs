//! Labels whose waits are to be checked, since the awaited state may have changed.

use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct UncheckedLabels {
    in_order: Vec<(usize, Box<[u8]>)>,
    known: BTreeSet<(usize, Box<[u8]>)>,
}

impl UncheckedLabels {
    /// Adds a label; one that is there already keeps its position. O(log n).
    pub(super) fn add(&mut self, db: usize, label: Box<[u8]>) {
        let one = (db, label);
        if self.known.insert(one.clone()) {
            self.in_order.push(one);
        }
    }

    /// Takes the label that was added last. O(log n).
    pub(super) fn take(&mut self) -> Option<(usize, Box<[u8]>)> {
        let last = self.in_order.pop()?;
        self.known.remove(&last);
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_taken_once_and_last_in_first_out() {
        let mut labels = UncheckedLabels::default();
        for (db, label) in [(0, b"a"), (1, b"a"), (0, b"b"), (0, b"a")] {
            labels.add(db, label.as_slice().into());
        }
        let taken: Vec<(usize, Box<[u8]>)> = std::iter::from_fn(|| labels.take()).collect();
        let expected = [(0, b"b"), (1, b"a"), (0, b"a")].map(|(db, label)| (db, Box::from(label.as_slice())));
        assert_eq!(taken, expected);
    }
}
