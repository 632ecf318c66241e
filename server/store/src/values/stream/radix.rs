//! The number of nodes of Redis' radix tree of a stream, which XINFO STREAM replies. The keys are the first ids of the
//! stream's nodes: both numbers, highest byte first. The tree has a node at the end of each key, one where keys part,
//! and one for the bytes between two of these, if more than the one that chooses the branch.

use super::id::StreamId;

const KEY: u32 = 16;

pub(super) trait Keys {
    /// The first key that is not below `id`.
    fn at_or_after(&self, id: StreamId) -> Option<StreamId>;
    /// The last key that is not above `id`.
    fn at_or_before(&self, id: StreamId) -> Option<StreamId>;
}

/// The number of nodes that the tree has because of this key. An empty tree has the root. O(log n).
pub(super) fn nodes_of(keys: &impl Keys, key: StreamId) -> usize {
    let before = key.previous().and_then(|id| keys.at_or_before(id));
    let after = key.next().and_then(|id| keys.at_or_after(id));
    let common_with = |other: Option<StreamId>| other.map(|other| common(key, other));
    let Some(parting) = common_with(before).max(common_with(after)) else { return 1 };
    let own = 1 + between(Some(parting), KEY);
    // The other keys that begin as the key does, up to the byte at which it parts from the nearest.
    let (low, high) = beginning(key, parting);
    let first = keys.at_or_after(low).filter(|first| *first != key).or(after);
    let last = keys.at_or_before(high).filter(|last| *last != key).or(before);
    let (Some(first), Some(last)) = (first, last) else { return own };
    let below = if first == last { KEY } else { common(first, last) };
    if below == parting {
        return own;
    }
    // Without the key, the other keys would not part here.
    let outside = [
        low.previous().and_then(|id| keys.at_or_before(id)),
        high.next().and_then(|id| keys.at_or_after(id)),
    ];
    let above = outside.into_iter().filter_map(common_with).max();
    own + 1 + between(above, parting) + between(Some(parting), below) - between(above, below)
}

/// The number of nodes between a parting, or the root, and the node below it.
fn between(above: Option<u32>, below: u32) -> usize {
    usize::from(below > above.map_or(0, |above| above + 1))
}

fn bits(id: StreamId) -> u128 {
    u128::from(id.ms) << 64 | u128::from(id.seq)
}

/// The number of leading bytes that two keys have in common.
fn common(one: StreamId, other: StreamId) -> u32 {
    (bits(one) ^ bits(other)).leading_zeros() / 8
}

/// The least and the greatest key that begin with the first `bytes` bytes of this one, which must be fewer than all.
fn beginning(key: StreamId, bytes: u32) -> (StreamId, StreamId) {
    let rest = u128::MAX >> (8 * bytes);
    let id = |bits: u128| StreamId::new((bits >> 64) as u64, bits as u64);
    (id(bits(key) & !rest), id(bits(key) | rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    impl Keys for BTreeSet<StreamId> {
        fn at_or_after(&self, id: StreamId) -> Option<StreamId> {
            self.range(id..).next().copied()
        }

        fn at_or_before(&self, id: StreamId) -> Option<StreamId> {
            self.range(..=id).next_back().copied()
        }
    }

    /// The number of nodes from the common node down of these keys, which are equal up to `from`.
    fn naive(keys: &[[u8; KEY as usize]], from: usize) -> usize {
        let Some((first, last)) = keys.first().zip(keys.last()) else { return 1 };
        let same = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let chain = usize::from(same > from);
        if same == KEY as usize {
            return chain + 1;
        }
        let ways: BTreeSet<u8> = keys.iter().map(|key| key[same]).collect();
        let below = |way: u8| {
            let keys: Vec<_> = keys.iter().filter(|key| key[same] == way).copied().collect();
            naive(&keys, same + 1)
        };
        chain + 1 + ways.into_iter().map(below).sum::<usize>()
    }

    fn keys(ids: &BTreeSet<StreamId>) -> Vec<[u8; KEY as usize]> {
        ids.iter().map(|id| bits(*id).to_be_bytes()).collect()
    }

    /// The counts that redis-server 7.0.15 replies for streams with one entry a node.
    #[test]
    fn nodes_are_those_of_the_real_server() {
        let count = |ids: &[(u64, u64)]| {
            let ids: BTreeSet<_> = ids.iter().map(|&(ms, seq)| StreamId::new(ms, seq)).collect();
            naive(&keys(&ids), 0)
        };
        assert_eq!((count(&[]), count(&[(1, 1)]), count(&[(1, 1), (1, 2)])), (1, 2, 4));
        assert_eq!(count(&[(1, 1), (1, 2), (1, 3)]), 5);
        assert_eq!(count(&[(1, 1), (2, 1)]), 6);
    }

    fn id() -> impl Strategy<Value = StreamId> {
        let number = prop_oneof![0_u64..4, 254_u64..260, any::<u64>(), Just(u64::MAX)];
        (number.clone(), number).prop_map(|(ms, seq)| StreamId::new(ms, seq))
    }

    proptest! {
        #[test]
        fn keys_are_inserted_and_removed(ids in prop::collection::vec(id(), 1..40)) {
            let (mut set, mut nodes) = (BTreeSet::new(), 1);
            for id in ids {
                if set.insert(id) {
                    nodes += nodes_of(&set, id);
                } else {
                    nodes -= nodes_of(&set, id);
                    set.remove(&id);
                }
                prop_assert_eq!(nodes, naive(&keys(&set), 0));
            }
        }
    }
}
