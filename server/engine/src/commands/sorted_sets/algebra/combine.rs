//! The algebra: it combines the members and scores of several sources.

use super::source::{Lookup, Pair, Source, index};
use lockwheel_resp::allocation;
use lockwheel_store::values::zset::Accumulator;

/// A source, and the factor of its scores.
pub(super) type Weighted<'a> = (Source<'a>, f64);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Aggregate {
    #[default]
    Sum,
    Min,
    Max,
}

impl Aggregate {
    /// Combines two scores of a member. `one` must not be NaN; `other` may be.
    fn combine(self, one: f64, other: f64) -> f64 {
        match self {
            Aggregate::Sum => number(one + other),
            Aggregate::Min if other < one => other,
            Aggregate::Max if other > one => other,
            Aggregate::Min | Aggregate::Max => one,
        }
    }
}

/// A score, or zero if infinities have cancelled out.
fn number(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// Sorts the sources by size, the smallest first and stably. Scores are added up in this order.
fn by_size(sources: &mut [Weighted<'_>]) {
    sources.sort_by_key(|(source, _)| source.len());
}

/// The members of all sources together. O(all members).
pub(super) fn union<'a>(mut sources: Vec<Weighted<'a>>, aggregate: Aggregate, seed: u64) -> Vec<Pair<'a>> {
    by_size(&mut sources);
    let mut members = Accumulator::new(seed);
    for (source, weight) in sources {
        source.visit(|(member, score)| {
            members.add(member, number(score * weight), |one, other| aggregate.combine(one, other));
            true
        });
    }
    members.into_pairs()
}

/// Calls `visit` for each member that all sources have, until it returns false. O(smallest's members · sources).
pub(super) fn intersection<'a>(
    mut sources: Vec<Weighted<'a>>,
    aggregate: Aggregate,
    seed: u64,
    mut visit: impl FnMut(Pair<'a>) -> bool,
) {
    by_size(&mut sources);
    let Some(((smallest, weight), others)) = sources.split_first() else { return };
    let others: Vec<(Lookup<'_>, f64)> =
        others.iter().map(|&(source, weight)| (Lookup::new(source, smallest.len(), seed), weight)).collect();
    smallest.visit(|(member, score)| {
        let mut total = number(score * weight);
        for (other, weight) in &others {
            let Some(score) = other.score(&member) else { return true };
            total = aggregate.combine(total, score * weight);
        }
        visit((member, total))
    });
}

/// The members of the first source that no other has. O(all members), or less by looking up the first's members.
pub(super) fn difference<'a>(first: Source<'a>, mut others: Vec<Source<'a>>, seed: u64) -> Vec<Pair<'a>> {
    let all: usize = first.len() + others.iter().map(|source| source.len()).sum::<usize>();
    let mut kept = Vec::new();
    if first.len().saturating_mul(others.len() + 1) / 2 <= all {
        // The largest source is the most likely to have a member.
        others.sort_by_key(|source| std::cmp::Reverse(source.len()));
        let others: Vec<Lookup<'_>> =
            others.into_iter().map(|source| Lookup::new(source, first.len(), seed)).collect();
        keep(first, &mut kept, |member| others.iter().all(|other| other.score(member).is_none()));
    } else {
        let others = index(others, seed);
        keep(first, &mut kept, |member| others.get(member).is_none());
    }
    kept
}

fn keep<'a>(first: Source<'a>, kept: &mut Vec<Pair<'a>>, is_kept: impl Fn(&[u8]) -> bool) {
    first.visit(|(member, score)| {
        if is_kept(&member) {
            allocation::push(kept, (member, score));
        }
        true
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_store::values::{Encodings, Set, ZSet};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The owned value of a source: a sorted set, or a set.
    #[derive(Clone, Debug)]
    enum Owner {
        Sorted(ZSet),
        Plain(Set),
    }

    type Model = BTreeMap<Vec<u8>, f64>;

    impl Owner {
        fn new(members: &BTreeMap<u8, i8>, plain: bool, large: bool) -> Self {
            let entries = if large { 0 } else { 128 };
            let enc = Encodings {
                zset_max_listpack_entries: entries,
                set_max_listpack_entries: entries,
                set_max_intset_entries: entries,
                ..Encodings::default()
            };
            let named = members.iter().map(|(member, score)| (member.to_string(), f64::from(*score)));
            if plain {
                let mut set = Set::new();
                named.for_each(|(member, _)| _ = set.add(member.as_bytes(), &enc));
                Owner::Plain(set)
            } else {
                let mut set = ZSet::new();
                named.for_each(|(member, score)| _ = set.insert(member.as_bytes(), score, &enc));
                Owner::Sorted(set)
            }
        }

        fn source(&self) -> Source<'_> {
            match self {
                Owner::Sorted(set) => Source::Sorted(set),
                Owner::Plain(set) => Source::Plain(set),
            }
        }

        fn model(&self) -> Model {
            let mut model = Model::new();
            self.source().visit(|(member, score)| model.insert(member.to_vec(), score).is_none());
            model
        }
    }

    fn owner() -> impl Strategy<Value = Owner> {
        let members = prop::collection::btree_map(0_u8..40, -3_i8..4, 1..40);
        (members, any::<bool>(), any::<bool>())
            .prop_map(|(members, plain, large)| Owner::new(&members, plain, large))
    }

    fn model_of(pairs: Vec<Pair<'_>>) -> Model {
        let len = pairs.len();
        let model: Model = pairs.into_iter().map(|(member, score)| (member.to_vec(), score)).collect();
        assert_eq!(model.len(), len, "a member came twice");
        model
    }

    fn naive(scores: &[f64], aggregate: Aggregate) -> f64 {
        match aggregate {
            Aggregate::Sum => scores.iter().sum(),
            Aggregate::Min => scores.iter().copied().fold(f64::INFINITY, f64::min),
            Aggregate::Max => scores.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    proptest! {
        #[test]
        fn combining_equals_a_naive_model(
            owners in prop::collection::vec((owner(), -2_i8..3), 1..6),
            aggregate in prop_oneof![Just(Aggregate::Sum), Just(Aggregate::Min), Just(Aggregate::Max)],
        ) {
            let weighted: Vec<Weighted<'_>> =
                owners.iter().map(|(owner, weight)| (owner.source(), f64::from(*weight))).collect();
            let mut scores: BTreeMap<Vec<u8>, Vec<f64>> = BTreeMap::new();
            for (owner, weight) in &owners {
                for (member, score) in owner.model() {
                    scores.entry(member).or_default().push(score * f64::from(*weight));
                }
            }
            let all = |pairs: &BTreeMap<Vec<u8>, Vec<f64>>| -> Model {
                pairs.iter().map(|(member, scores)| (member.clone(), naive(scores, aggregate))).collect()
            };
            prop_assert_eq!(model_of(union(weighted.clone(), aggregate, 1)), all(&scores));
            let mut common = Vec::new();
            intersection(weighted.clone(), aggregate, 1, |pair| {
                common.push(pair);
                true
            });
            scores.retain(|_, scores| scores.len() == owners.len());
            prop_assert_eq!(model_of(common), all(&scores));
            let sources: Vec<Source<'_>> = weighted.iter().map(|(source, _)| *source).collect();
            let mut left = owners[0].0.model();
            left.retain(|member, _| !owners[1..].iter().any(|(owner, _)| owner.model().contains_key(member)));
            prop_assert_eq!(model_of(difference(sources[0], sources[1..].to_vec(), 1)), left);
        }
    }

    #[test]
    fn infinities_that_cancel_out_are_zero() {
        let infinity = f64::INFINITY;
        assert_eq!(Aggregate::Sum.combine(infinity, -infinity), 0.0);
        assert_eq!(Aggregate::Sum.combine(3.0, f64::NAN), 0.0);
        assert_eq!(Aggregate::Min.combine(3.0, f64::NAN), 3.0);
        assert_eq!(Aggregate::Max.combine(3.0, f64::NAN), 3.0);
    }
}
