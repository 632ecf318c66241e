//! The sorting of found members by distance. The module knows no command.
//!
//! The replies of Redis show its sorting algorithm. If all members are returned, members at equal distances keep the
//! order in which they were found. If the sort ends early, their order depends on the exchanges of the algorithm. That
//! is the quicksort of Bentley and McIlroy ("Engineering a Sort Function", 1993), which leaves out unwanted parts.

use std::cmp::Ordering;
use std::ops::Range;

/// The number of elements below which a part is sorted by insertion.
const SHORT: usize = 7;
/// The number of elements above which the pivot of a part is the median of nine.
const LONG: usize = 40;

/// Sorts so that the first `wanted` elements are the first ones of the sorted whole. The elements after them are in no
/// order. O(n log n); mostly O(n + wanted log wanted).
pub(super) fn sort_first<T: Copy>(items: &mut [T], wanted: usize, order: impl Fn(&T, &T) -> Ordering + Copy) {
    if wanted >= items.len() {
        items.sort_by(order);
        return;
    }
    let whole = 0..items.len();
    let mut parts = Vec::from([whole]);
    // The number of elements looked at before the input counts as an attack on the algorithm.
    let mut budget = items.len().saturating_mul(4 * (items.len().ilog2() as usize + 1));
    while let Some(part) = parts.pop() {
        let Some(left) = budget.checked_sub(part.len()) else {
            items[part].sort_by(order);
            continue;
        };
        budget = left;
        let (low, high) = divide(&mut items[part.clone()], order);
        let outer = [part.start..part.start + low, part.end - high..part.end];
        parts.extend(outer.into_iter().filter(|part| part.len() > 1 && part.start < wanted));
    }
}

/// Moves the elements before a pivot to the front, those after it to the end, and returns both numbers.
fn divide<T: Copy>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering + Copy) -> (usize, usize) {
    if items.len() < SHORT {
        insertion_sort(items, order);
        return (0, 0);
    }
    items.swap(0, pivot(items, order));
    let len = items.len();
    // Elements equal to the pivot are collected at both ends: before `equal.start` and from `equal.end` on.
    let (mut equal, mut unseen) = (1..len, 1..len);
    loop {
        while let Some(low) = first(&unseen)
            && let compared = order(&items[low], &items[0])
            && compared.is_le()
        {
            if compared.is_eq() {
                items.swap(equal.start, low);
                equal.start += 1;
            }
            unseen.start += 1;
        }
        while let Some(high) = last(&unseen)
            && let compared = order(&items[high], &items[0])
            && compared.is_ge()
        {
            if compared.is_eq() {
                equal.end -= 1;
                items.swap(high, equal.end);
            }
            unseen.end -= 1;
        }
        if unseen.is_empty() {
            break;
        }
        items.swap(unseen.start, unseen.end - 1);
        unseen = unseen.start + 1..unseen.end - 1;
    }
    let (low, high) = (unseen.start - equal.start, equal.end - unseen.end);
    exchange(items, 0, unseen.start, equal.start.min(low));
    exchange(items, unseen.start, len, high.min(len - equal.end));
    (low, high)
}

fn first(range: &Range<usize>) -> Option<usize> {
    (!range.is_empty()).then_some(range.start)
}

fn last(range: &Range<usize>) -> Option<usize> {
    (!range.is_empty()).then(|| range.end - 1)
}

/// Exchanges `count` elements from `front` on with the last `count` elements before `end`.
fn exchange<T>(items: &mut [T], front: usize, end: usize, count: usize) {
    for at in 0..count {
        items.swap(front + at, end - count + at);
    }
}

fn insertion_sort<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && order(&items[at - 1], &items[at]).is_gt() {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// The index of the element to divide by: the middle one, the median of three, or of three medians.
fn pivot<T>(items: &[T], order: impl Fn(&T, &T) -> Ordering + Copy) -> usize {
    let (first, middle, last) = (0, items.len() / 2, items.len() - 1);
    let median = |a, b, c| median(items, [a, b, c], order);
    if items.len() <= SHORT {
        middle
    } else if items.len() <= LONG {
        median(first, middle, last)
    } else {
        let step = items.len() / 8;
        median(
            median(first, first + step, first + 2 * step),
            median(middle - step, middle, middle + step),
            median(last - 2 * step, last - step, last),
        )
    }
}

fn median<T>(items: &[T], [a, b, c]: [usize; 3], order: impl Fn(&T, &T) -> Ordering) -> usize {
    let compare = |one: usize, other: usize| order(&items[one], &items[other]);
    if compare(a, b).is_lt() {
        if compare(b, c).is_lt() {
            b
        } else if compare(a, c).is_lt() {
            c
        } else {
            a
        }
    } else if compare(b, c).is_gt() {
        b
    } else if compare(a, c).is_lt() {
        a
    } else {
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_first(a: &(u32, usize), b: &(u32, usize)) -> Ordering {
        a.0.cmp(&b.0)
    }

    fn numbered(keys: &[u32]) -> Vec<(u32, usize)> {
        keys.iter().copied().zip(0..).collect()
    }

    #[test]
    fn all_are_sorted_in_the_order_found_where_equal() {
        let mut items = numbered(&[2, 1, 2, 1, 0, 2, 1, 0, 0, 1]);
        sort_first(&mut items, 10, by_first);
        assert!(items.is_sorted());
    }

    #[test]
    fn an_adversarial_input_is_sorted_in_time() {
        // Every pivot is close to an end: McIlroy's adversary decides during comparisons which elements are large.
        use std::cell::{Cell, RefCell};
        let len = 4000;
        let (values, solid, candidate, asked) =
            (RefCell::new(vec![usize::MAX; len]), Cell::new(0), Cell::new(0), Cell::new(0_usize));
        let order = |a: &usize, b: &usize| {
            asked.set(asked.get() + 1);
            let mut values = values.borrow_mut();
            if values[*a] == usize::MAX && values[*b] == usize::MAX {
                let fixed = if *a == candidate.get() { *a } else { *b };
                values[fixed] = solid.get();
                solid.set(solid.get() + 1);
            }
            if values[*a] == usize::MAX {
                candidate.set(*a);
            } else if values[*b] == usize::MAX {
                candidate.set(*b);
            }
            values[*a].cmp(&values[*b])
        };
        let mut items: Vec<usize> = (0..len).collect();
        sort_first(&mut items, len - 1, order);
        assert!(asked.get() < len * 200, "{}", asked.get());
        assert!(items.is_sorted_by_key(|item| values.borrow()[*item]));
    }

    proptest! {
        #[test]
        fn the_first_elements_are_the_nearest(
            keys in prop::collection::vec(0_u32..50, 1..400),
            wanted in 0_usize..400,
        ) {
            let mut items = numbered(&keys);
            sort_first(&mut items, wanted, by_first);
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            let wanted = wanted.min(keys.len());
            prop_assert!(items[..wanted].iter().map(|item| item.0).eq(sorted[..wanted].iter().copied()));
            items.sort_unstable_by_key(|item| item.1);
            prop_assert_eq!(items, numbered(&keys));
        }
    }
}
