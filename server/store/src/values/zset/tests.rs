//! Tests of sorted sets against a sorted vector, through both encodings.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn small() -> Encodings {
    Encodings { zset_max_listpack_entries: 8, zset_max_listpack_value: 20, ..Encodings::default() }
}

#[test]
fn a_sorted_set_converts_where_redis_does() {
    let enc = Encodings::default();
    let mut zset = ZSet::new();
    for n in 0..128 {
        zset.insert(format!("m{n}").as_bytes(), f64::from(n), &enc);
    }
    assert_eq!(zset.encoding(), Encoding::Listpack);
    zset.insert(b"m0", 1e9, &enc);
    assert_eq!(zset.encoding(), Encoding::Listpack);
    zset.insert(b"m128", 0.0, &enc);
    assert_eq!(zset.encoding(), Encoding::Skiplist);
    let mut zset = ZSet::new();
    zset.insert(&[b'x'; 64], 0.0, &enc);
    assert_eq!(zset.encoding(), Encoding::Listpack);
    zset.insert(&[b'x'; 65], 0.0, &enc);
    assert_eq!(zset.encoding(), Encoding::Skiplist);
    let mut zset = ZSet::new();
    zset.expect(128, 64, &enc);
    assert_eq!(zset.encoding(), Encoding::Listpack);
    zset.expect(1, 65, &enc);
    assert_eq!(zset.encoding(), Encoding::Skiplist);
}

#[test]
fn infinities_are_at_the_ends_and_zeros_are_one() {
    for entries in [0, 128] {
        let enc = Encodings { zset_max_listpack_entries: entries, ..Encodings::default() };
        let mut zset = ZSet::new();
        let scores = [f64::INFINITY, 0.0, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE];
        for (score, member) in scores.into_iter().zip([b"a", b"c", b"d", b"b", b"e"]) {
            zset.insert(member, score, &enc);
        }
        let members: Vec<u8> = zset.iter().map(|(member, _)| member[0]).collect();
        assert_eq!(members, b"dbcea");
        assert_eq!(zset.ranks_by_score(Bound::Included(0.0), Bound::Included(-0.0)), 1..3);
        assert_eq!(
            zset.ranks_by_score(Bound::Excluded(f64::NEG_INFINITY), Bound::Excluded(f64::INFINITY)),
            1..4
        );
        assert_eq!(zset.insert(b"c", -0.0, &enc), Some(0.0));
        assert_eq!(zset.score(b"c").map(f64::is_sign_negative), Some(false));
    }
}

fn scores() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-5_i8..5).prop_map(f64::from),
        1 => any::<f64>().prop_filter("a score is no NaN", |score| !score.is_nan()),
        1 => prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0)],
    ]
}

type Model = BTreeMap<Vec<u8>, f64>;

fn sorted(model: &Model) -> Vec<(&[u8], f64)> {
    let mut all: Vec<(&[u8], f64)> =
        model.iter().map(|(member, score)| (member.as_slice(), *score)).collect();
    all.sort_by(|a, b| order(*a, *b));
    all
}

fn check(zset: &ZSet, model: &Model, min: f64, max: f64) -> Result<(), TestCaseError> {
    let all = sorted(model);
    prop_assert_eq!(zset.len(), all.len());
    prop_assert!(zset.iter().eq(all.iter().copied()));
    prop_assert!(zset.iter().rev().eq(all.iter().rev().copied()));
    let below =
        |limit: f64, with: bool| all.iter().filter(|(_, s)| *s < limit || with && *s == limit).count();
    for (from, with_min) in [(Bound::Included(min), false), (Bound::Excluded(min), true)] {
        for (to, with_max) in [(Bound::Included(max), true), (Bound::Excluded(max), false)] {
            let (start, end) = (below(min, with_min), below(max, with_max));
            let ranks = zset.ranks_by_score(from, to);
            prop_assert_eq!(&ranks, &(start..end.max(start)));
            prop_assert!(zset.range(ranks.clone()).eq(all[ranks.clone()].iter().copied()));
            prop_assert!(zset.range(ranks.clone()).rev().eq(all[ranks].iter().rev().copied()));
        }
    }
    for (rank, pair) in all.iter().enumerate() {
        prop_assert_eq!(zset.rank(pair.0), Some(rank));
        prop_assert_eq!(zset.score(pair.0), Some(pair.1));
        prop_assert_eq!(zset.nth(rank), Some(*pair));
    }
    prop_assert_eq!(zset.nth(all.len()), None);
    let (mut scanned, mut cursor) = (Model::new(), 0);
    loop {
        cursor = zset.scan(cursor, 3, |member, score| {
            scanned.insert(member.to_vec(), score);
        });
        if cursor == 0 {
            break;
        }
    }
    prop_assert_eq!(&scanned, model);
    let picked: Model = (0..all.len()).filter_map(|n| zset.pick(n)).map(|(m, s)| (m.to_vec(), s)).collect();
    prop_assert_eq!(&picked, model);
    Ok(())
}

proptest! {
    #[test]
    fn a_sorted_set_is_a_sorted_map(
        steps in prop::collection::vec((0_u8..10, 0_usize..24, scores(), any::<prop::sample::Index>()), 0..60),
        (min, max) in (scores(), scores()),
    ) {
        let enc = small();
        let (mut zset, mut model) = (ZSet::new(), Model::new());
        for (op, member, score, index) in steps {
            let member = vec![b'a' + member as u8 % 5; member];
            let first = sorted(&model).first().map(|(m, s)| (Box::from(*m), *s));
            let last = sorted(&model).last().map(|(m, s)| (Box::from(*m), *s));
            match op {
                0 | 1 => prop_assert_eq!(zset.remove(&member), model.remove(&member)),
                2 => {
                    prop_assert_eq!(zset.pop_min(), first.clone());
                    first.map(|(m, _)| model.remove(&m[..]));
                }
                3 => {
                    prop_assert_eq!(zset.pop_max(), last.clone());
                    last.map(|(m, _)| model.remove(&m[..]));
                }
                4 => {
                    let start = index.index(model.len() + 1);
                    let doomed: Vec<Vec<u8>> =
                        sorted(&model)[start..].iter().take(3).map(|(m, _)| m.to_vec()).collect();
                    prop_assert_eq!(zset.remove_range(start..start + 3), doomed.len());
                    model.retain(|m, _| !doomed.contains(m));
                }
                _ => prop_assert_eq!(zset.insert(&member, score, &enc), model.insert(member, score)),
            }
            check(&zset, &model, min, max)?;
        }
    }

    #[test]
    fn members_of_one_score_are_found_by_their_bytes(
        members in prop::collection::btree_set("[a-c]{0,4}", 0..40), min in "[a-c]{0,4}", max in "[a-c]{0,4}",
    ) {
        let mut zset = ZSet::new();
        for member in &members {
            zset.insert(member.as_bytes(), 1.5, &small());
        }
        let found = |min, max| -> Vec<Vec<u8>> {
            zset.range(zset.ranks_by_member(min, max)).map(|(member, _)| member.to_vec()).collect()
        };
        let expected = |keep: &dyn Fn(&&String) -> bool| -> Vec<Vec<u8>> {
            members.iter().filter(keep).map(|member| member.clone().into_bytes()).collect()
        };
        let (low, high) = (min.as_bytes(), max.as_bytes());
        prop_assert_eq!(found(Bound::Included(low), Bound::Excluded(high)), expected(&|m| **m >= min && **m < max));
        prop_assert_eq!(found(Bound::Excluded(low), Bound::Included(high)), expected(&|m| **m > min && **m <= max));
        prop_assert_eq!(found(Bound::Unbounded, Bound::Unbounded), expected(&|_| true));
    }

    #[test]
    fn a_large_set_stays_in_order(
        steps in prop::collection::vec((any::<bool>(), 0_u16..800, -20_i8..20), 0..2500),
    ) {
        let enc = small();
        let (mut zset, mut model) = (ZSet::new(), Model::new());
        for (remove, member, score) in steps {
            let member = member.to_string().into_bytes();
            if remove {
                prop_assert_eq!(zset.remove(&member), model.remove(&member));
            } else {
                prop_assert_eq!(zset.insert(&member, f64::from(score), &enc), model.insert(member, f64::from(score)));
            }
        }
        check(&zset, &model, -3.0, 12.0)?;
    }
}

proptest! {
    #[test]
    fn a_set_made_at_once_is_that_of_insertions(
        members in prop::collection::btree_map(prop::collection::vec(0_u8..4, 0..30), scores(), 0..40),
        from in scores(),
        to in scores(),
    ) {
        let enc = Encodings { zset_max_listpack_entries: 20, zset_max_listpack_value: 25, ..Encodings::default() };
        let mut pairs: Vec<(&[u8], f64)> =
            members.iter().map(|(member, score)| (member.as_slice(), *score)).collect();
        sort(&mut pairs);
        prop_assert_eq!(&pairs, &sorted(&members));
        let made = ZSet::of_sorted(&pairs, &enc);
        let mut grown = ZSet::new();
        members.iter().for_each(|(member, score)| _ = grown.insert(member, *score, &enc));
        prop_assert_eq!(made.encoding(), grown.encoding());
        check(&made, &members, from, to)?;
        for (member, score) in &members {
            prop_assert_eq!(made.score(member), Some(*score));
        }
        let odd = |score: f64| (score % 2.0 != 0.0).then_some(-score);
        let found: Vec<_> = made.search(from, to, odd).collect();
        let between = pairs.iter().filter(|(_, score)| from <= *score && *score < to);
        let expected: Vec<_> =
            between.filter_map(|(member, score)| Some((*member, *score, odd(*score)?))).collect();
        prop_assert_eq!(found, expected);
        let mut changed = made.clone();
        for (member, score) in &members {
            prop_assert_eq!(changed.remove(member), Some(*score));
        }
        prop_assert!(changed.is_empty());
        if made.encoding() == Encoding::Listpack {
            prop_assert_eq!(made.heap_bytes(), grown.heap_bytes());
        }
    }
}

proptest! {
    /// Shifts among other changes: of whole scores and of others, of all scores, and of those behind a removed member.
    #[test]
    fn a_shift_moves_scores_and_nothing_else(
        steps in prop::collection::vec((0_u8..9, 0_usize..40, scores(), -1000_i32..1000), 0..200),
        whole in any::<bool>(),
    ) {
        let (enc, mut zset, mut model) = (small(), ZSet::new(), Model::new());
        for (what, n, score, by) in steps {
            let member = format!("member:{n}").into_bytes();
            let score = if whole { f64::from(by) } else { score };
            match what {
                0 => {
                    zset.shift(f64::from(by), &enc);
                    model.values_mut().for_each(|score| *score += f64::from(by));
                }
                1 => prop_assert_eq!(zset.remove(&member), model.remove(&member)),
                2 => {
                    let first = zset.nth(0).map(|(member, score)| (Box::from(member), score));
                    if let Some((member, _)) = &first {
                        model.remove(&**member);
                    }
                    prop_assert_eq!(zset.pop_min(), first);
                }
                3..6 => {
                    let by = -f64::from(by.abs() % 10);
                    if let Some((score, behind)) = zset.remove_and_shift(&member, by) {
                        prop_assert_eq!(model.remove(&member), Some(score));
                        let is_behind = |(other, there): (&Vec<u8>, &f64)| {
                            order((other, *there), (&member, score)) == Ordering::Greater
                        };
                        let moved: Vec<Vec<u8>> = model
                            .iter()
                            .filter(|(other, there)| is_behind((other, there)))
                            .map(|(other, _)| other.clone())
                            .collect();
                        prop_assert_eq!(behind, moved.len());
                        moved.iter().for_each(|other| *model.get_mut(other).unwrap() += by);
                    }
                }
                _ => prop_assert_eq!(zset.insert(&member, score, &enc), model.insert(member, score)),
            }
            check(&zset, &model, -3.0, f64::from(by))?;
        }
    }
}
