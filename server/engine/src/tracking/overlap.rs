//! The check that the prefixes of one client do not overlap. Otherwise the client would be notified of one key twice.

use std::collections::BTreeSet;

/// Two prefixes, one of which is the beginning of the other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Overlap<'a> {
    /// A new prefix, and an existing prefix of the client.
    Existing(&'a [u8], &'a [u8]),
    /// Two new prefixes.
    Provided(&'a [u8], &'a [u8]),
}

/// Returns the first new prefix that overlaps with an existing prefix or with a later new one, and the first such other
/// prefix. O(n log n), because a request may have a million prefixes.
pub(crate) fn find_overlap<'a>(existing: &'a BTreeSet<Box<[u8]>>, new: &[&'a [u8]]) -> Option<Overlap<'a>> {
    let (at, first) = new.iter().enumerate().nth(first_overlapped(existing, new)?)?;
    let overlaps = |other: &&[u8]| other.starts_with(first) || first.starts_with(other);
    let found = existing.iter().map(|prefix| &**prefix).find(overlaps);
    found.map(|prefix| Overlap::Existing(first, prefix)).or_else(|| {
        let later = new[at + 1..].iter().copied().find(overlaps);
        later.map(|prefix| Overlap::Provided(first, prefix))
    })
}

/// Returns the index of the first new prefix that overlaps with any other. In sorted order, texts that begin with a
/// prefix follow it. A stack holds the prefixes that the present text begins with.
fn first_overlapped(existing: &BTreeSet<Box<[u8]>>, new: &[&[u8]]) -> Option<usize> {
    let there = existing.iter().map(|prefix| (&**prefix, usize::MAX));
    let mut all: Vec<(&[u8], usize)> = there.chain(new.iter().copied().zip(0..)).collect();
    all.sort_unstable();
    let (mut first, mut beginnings) = (usize::MAX, Vec::<(&[u8], usize)>::new());
    for (prefix, index) in all {
        while beginnings.pop_if(|(beginning, _)| !prefix.starts_with(beginning)).is_some() {}
        if let Some((_, of_beginning)) = beginnings.last() {
            first = first.min(index).min(*of_beginning);
        }
        beginnings.push((prefix, index));
    }
    (first != usize::MAX).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compares each with each.
    fn naive<'a>(existing: &'a BTreeSet<Box<[u8]>>, new: &[&'a [u8]]) -> Option<Overlap<'a>> {
        let overlap = |one: &[u8], other: &[u8]| one.starts_with(other) || other.starts_with(one);
        for (at, &one) in new.iter().enumerate() {
            if let Some(other) = existing.iter().find(|other| overlap(one, other)) {
                return Some(Overlap::Existing(one, other));
            }
            if let Some(other) = new[at + 1..].iter().find(|other| overlap(one, other)) {
                return Some(Overlap::Provided(one, other));
            }
        }
        None
    }

    proptest! {
        #[test]
        fn the_first_overlap_equals_that_of_a_naive_comparison(
            there in proptest::collection::vec("[ab]{0,4}", 0..4),
            new in proptest::collection::vec("[ab]{0,5}", 0..6),
        ) {
            let existing: BTreeSet<Box<[u8]>> = there.iter().map(|one| one.as_bytes().into()).collect();
            // The existing prefixes of a client do not overlap.
            let apart = existing.iter().all(|one| {
                existing.iter().all(|other| one == other || !other.starts_with(one))
            });
            prop_assume!(apart);
            let new: Vec<&[u8]> = new.iter().map(|one| one.as_bytes()).collect();
            prop_assert_eq!(find_overlap(&existing, &new), naive(&existing, &new));
        }
    }
}
