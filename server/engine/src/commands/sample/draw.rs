//! The random draw of elements of a collection.

use crate::spec::{Args, CommandError, errors};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use lockwheel_resp::allocation::{self, OutOfMemory};
use lockwheel_store::keyspace::Rng;
use lockwheel_store::values::{Encoding, Hash, Set, Text, ZSet};

/// The most elements drawn with repetition. Redis takes any number, and answers for hours or until its memory is full.
const MAX_REPEATED_ELEMENTS: u64 = 1 << 22;

/// The most bytes of memory that the choice of each element takes.
const CHOICE_BYTES: usize = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draw {
    Distinct(u64),
    Repeated(u64),
}

impl Draw {
    /// Reads the draw from the count in argument `index`; negative: with repetition. Fails if it is no integer, or the
    /// lowest.
    pub(super) fn parse(args: Args<'_>, index: usize) -> Result<Self, CommandError> {
        let count = args.int_in(index, -i64::MAX, i64::MAX, errors::OUT_OF_LONG_RANGE)?;
        Ok(if count < 0 {
            Self::Repeated(count.unsigned_abs())
        } else {
            Self::Distinct(count.unsigned_abs())
        })
    }

    /// The absolute value of the count.
    pub(super) fn count(self) -> u64 {
        match self {
            Self::Distinct(count) | Self::Repeated(count) => count,
        }
    }

    /// The number of elements drawn from `size`, at least one, existing ones. Fails with `value is out of range` for
    /// more than [`MAX_REPEATED_ELEMENTS`] with repetition.
    pub(super) fn len(self, size: usize) -> Result<usize, CommandError> {
        match self {
            Self::Distinct(count) => Ok(usize::try_from(count).map_or(size, |count| count.min(size))),
            Self::Repeated(count) if count > MAX_REPEATED_ELEMENTS => Err(errors::OUT_OF_RANGE),
            Self::Repeated(count) => usize::try_from(count).map_err(|_| errors::OUT_OF_RANGE),
        }
    }
}

/// A collection from which elements are drawn.
pub(in crate::commands) trait Pool {
    /// A drawn element.
    type Item<'a>: Copy
    where
        Self: 'a;

    fn size(&self) -> usize;
    /// Bytes of heap that all elements take.
    fn heap_bytes(&self) -> usize;
    /// The element with this index, in the order of [`Pool::walk`]. An indexed pool may have any order.
    fn at(&self, index: usize) -> Option<Self::Item<'_>>;
    /// Whether an element is found by its index without a walk.
    fn is_indexed(&self) -> bool;
    /// All elements.
    fn walk(&self) -> impl Iterator<Item = Self::Item<'_>>;
    /// All elements, in the order in which Redis replies a draw of all.
    fn all(&self) -> impl Iterator<Item = Self::Item<'_>> {
        self.walk()
    }
}

impl Pool for Hash {
    type Item<'a> = (&'a [u8], &'a [u8]);

    fn size(&self) -> usize {
        self.len()
    }

    fn heap_bytes(&self) -> usize {
        Hash::heap_bytes(self)
    }

    fn at(&self, index: usize) -> Option<Self::Item<'_>> {
        self.nth(index)
    }

    fn is_indexed(&self) -> bool {
        self.encoding() != Encoding::Listpack
    }

    fn walk(&self) -> impl Iterator<Item = Self::Item<'_>> {
        self.iter()
    }
}

impl Pool for Set {
    type Item<'a> = Text<'a>;

    fn size(&self) -> usize {
        self.len()
    }

    fn heap_bytes(&self) -> usize {
        Set::heap_bytes(self)
    }

    fn at(&self, index: usize) -> Option<Self::Item<'_>> {
        self.nth(index)
    }

    fn is_indexed(&self) -> bool {
        self.encoding() != Encoding::Listpack
    }

    fn walk(&self) -> impl Iterator<Item = Self::Item<'_>> {
        self.iter()
    }
}

impl Pool for ZSet {
    type Item<'a> = (&'a [u8], f64);

    fn size(&self) -> usize {
        self.len()
    }

    fn heap_bytes(&self) -> usize {
        ZSet::heap_bytes(self)
    }

    fn at(&self, index: usize) -> Option<Self::Item<'_>> {
        self.pick(index)
    }

    fn is_indexed(&self) -> bool {
        self.encoding() != Encoding::Listpack
    }

    fn walk(&self) -> impl Iterator<Item = Self::Item<'_>> {
        self.iter()
    }

    /// All elements, from the highest score down.
    fn all(&self) -> impl Iterator<Item = Self::Item<'_>> {
        self.iter().rev()
    }
}

/// Draws one element of a nonempty pool.
pub(super) fn one<'a, P: Pool>(pool: &'a P, rng: &mut Rng) -> Option<P::Item<'a>> {
    pool.at(below(rng, pool.size()))
}

/// Draws `len` elements ([`Draw::len`]), each with the same probability. As in Redis, a draw of all has the order of
/// [`Pool::all`], and a distinct draw without an index its own. O(len), plus O(elements) without an index.
pub(super) fn draw<'a, P: Pool>(
    pool: &'a P,
    draw: Draw,
    len: usize,
    rng: &mut Rng,
    mut visit: impl FnMut(P::Item<'a>),
) {
    let size = pool.size();
    match draw {
        Draw::Distinct(_) if len >= size => pool.all().for_each(visit),
        Draw::Distinct(_) => {
            let mut picks = distinct(rng, size, len);
            if pool.is_indexed() {
                picks.into_iter().filter_map(|index| pool.at(index)).for_each(visit);
            } else {
                picks.sort_unstable();
                let mut picks = picks.into_iter().peekable();
                let picked = pool.walk().enumerate().filter(|(index, _)| picks.next_if_eq(index).is_some());
                picked.for_each(|(_, item)| visit(item));
            }
        }
        Draw::Repeated(_) if pool.is_indexed() => {
            (0..len).filter_map(|_| one(pool, rng)).for_each(visit);
        }
        Draw::Repeated(_) => {
            let all: Vec<_> = pool.walk().collect();
            (0..len).for_each(|_| visit(all[below(rng, size)]));
        }
    }
}

/// Checks that there is memory to choose `count` elements, or returns its size.
pub(in crate::commands) fn check_choice(count: usize) -> Result<(), OutOfMemory> {
    allocation::check(count.saturating_mul(CHOICE_BYTES))
}

/// `count` different numbers below `len`, in random order. O(count).
pub(in crate::commands) fn distinct(rng: &mut Rng, len: usize, count: usize) -> Vec<usize> {
    // A shuffle of 0, 1, 2, … that ends after `count` steps and records only the moved numbers.
    let mut moved: HashMap<usize, usize, FixedState> = HashMap::default();
    let step = |first: usize| {
        let pick = first + below(rng, len - first);
        let at_first = moved.remove(&first).unwrap_or(first);
        if pick == first { at_first } else { moved.insert(pick, at_first).unwrap_or(pick) }
    };
    (0..count).map(step).collect()
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    // The number is below a `usize`, so it fits.
    rng.below(bound as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    // Both glob imports have an `Rng`.
    use lockwheel_store::keyspace::Rng;
    use lockwheel_store::values::Encodings;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn counts_are_read_as_the_real_server_reads_them() {
        let parse = |text: &str| Draw::parse(Args::new(&[b"srandmember", b"k", text.as_bytes()]), 2);
        assert_eq!(parse("3"), Ok(Draw::Distinct(3)));
        assert_eq!(parse("-3"), Ok(Draw::Repeated(3)));
        assert_eq!(parse("-9223372036854775807"), Ok(Draw::Repeated(i64::MAX as u64)));
        assert_eq!(parse("-9223372036854775808"), Err(errors::OUT_OF_LONG_RANGE));
        assert_eq!(parse("9223372036854775808"), Err(errors::NOT_AN_INTEGER));
        assert_eq!(parse("x"), Err(errors::NOT_AN_INTEGER));
    }

    #[test]
    fn counts_beyond_the_memory_are_refused() {
        assert_eq!(Draw::Distinct(u64::MAX).len(5), Ok(5));
        assert_eq!(Draw::Distinct(2).len(5), Ok(2));
        assert_eq!(Draw::Repeated(MAX_REPEATED_ELEMENTS).len(1), Ok(MAX_REPEATED_ELEMENTS as usize));
        assert_eq!(Draw::Repeated(MAX_REPEATED_ELEMENTS + 1).len(1), Err(errors::OUT_OF_RANGE));
    }

    #[test]
    fn every_sample_has_the_same_chance() {
        let mut rng = Rng::new(1);
        let mut counts: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for _ in 0..12_000 {
            *counts.entry(distinct(&mut rng, 4, 2)).or_default() += 1;
        }
        // 12 ordered pairs, about 1,000 times each, with a standard deviation of 30.
        assert_eq!(counts.len(), 12);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    fn set_of(size: usize, large: bool) -> Set {
        let enc =
            Encodings { set_max_listpack_entries: if large { 0 } else { 1000 }, ..Encodings::default() };
        let mut set = Set::new();
        (0..size).for_each(|n| assert!(set.add(format!("m{n}").as_bytes(), &enc)));
        set
    }

    proptest! {
        #[test]
        fn numbers_are_distinct(len in 0_usize..300, count in 0_usize..300, seed: u64) {
            let count = count.min(len);
            let picks = distinct(&mut Rng::new(seed), len, count);
            prop_assert_eq!(picks.len(), count);
            prop_assert!(picks.iter().all(|&pick| pick < len));
            prop_assert_eq!(picks.into_iter().collect::<BTreeSet<_>>().len(), count);
        }

        #[test]
        fn a_draw_has_the_promised_number_of_elements(
            size in 1_usize..60,
            large: bool,
            count in 0_u64..90,
            again: bool,
            seed: u64,
        ) {
            let set = set_of(size, large);
            let kind = if again { Draw::Repeated(count) } else { Draw::Distinct(count) };
            let len = kind.len(size).unwrap();
            let mut drawn = Vec::new();
            draw(&set, kind, len, &mut Rng::new(seed), |member| drawn.push(member.to_vec()));
            prop_assert_eq!(drawn.len(), len);
            prop_assert!(drawn.iter().all(|member| set.contains(member)));
            if !again {
                prop_assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), len);
                if !large {
                    let order = |member: &Vec<u8>| set.iter().position(|there| *there == **member);
                    prop_assert!(drawn.is_sorted_by_key(order));
                }
            }
        }
    }
}
