//! Tests of the tree against a sorted list.

use super::*;
use proptest::prelude::*;

fn order(score: f64) -> impl Fn(Item) -> Ordering {
    move |item| item.score.total_cmp(&score)
}

fn all(tree: &Tree) -> Vec<Item> {
    let mut items = Vec::new();
    while items.len() < tree.len() {
        items.extend_from_slice(tree.run_at(items.len()).0);
    }
    items
}

fn check(node: &Node, root: bool) {
    if let Node::Inner(children) = node {
        assert!(children.len() <= INNER && (root || !children.is_empty()));
        for child in children {
            assert_eq!((Some(child.first), child.len), (child.node.first(), child.node.len()));
            assert!(child.len > 0);
            check(&child.node, false);
        }
    }
}

fn items(scores: impl Iterator<Item = u32>) -> Tree {
    let mut tree = Tree::new();
    for score in scores {
        tree.insert(Item { score: f64::from(score), position: score }, &order(f64::from(score)));
    }
    tree
}

#[test]
fn a_tree_grows_and_shrinks_through_several_levels() {
    let mut tree = items((0..20_000).map(|n| n * 7919 % 20_000));
    check(&tree.root, true);
    assert!(all(&tree).iter().map(|item| item.position).eq(0..20_000));
    for n in (0..20_000).filter(|n| n % 100 != 0) {
        assert!(tree.remove(&order(f64::from(n))));
    }
    assert_eq!(tree.held.0, tree.root.heap_bytes());
    check(&tree.root, true);
    assert!(all(&tree).iter().map(|item| item.position).eq((0..20_000).step_by(100)));
    let nodes = |node: &Node| if let Node::Inner(children) = node { children.len() } else { 1 };
    assert!(nodes(&tree.root) < 16, "{}", nodes(&tree.root));
}

#[test]
fn a_tree_of_sorted_items_is_that_of_insertions() {
    for len in [0, 1, 63, 64, 65, 128, 2048, 2049, 2113, 70_000] {
        let grown = items(0..len);
        let mut built = Tree::of_sorted(&all(&grown));
        check(&built.root, true);
        assert_eq!((built.len(), built.held.0), (len as usize, built.root.heap_bytes()));
        assert_eq!(all(&built), all(&grown));
        for n in (0..len).filter(|n| n % 3 == 0) {
            assert!(built.remove(&order(f64::from(n))));
        }
        built.insert(Item { score: 0.5, position: 0 }, &order(0.5));
        check(&built.root, true);
        assert_eq!(built.held.0, built.root.heap_bytes());
    }
}

#[test]
fn growing_in_order_fills_the_leaves() {
    let tree = items(0..10_000);
    check(&tree.root, true);
    assert_eq!(tree.run_at(5_000).0.len(), LEAF);
}

proptest! {
    #[test]
    fn a_tree_is_a_sorted_vector(
        start in 0_u32..3000,
        steps in prop::collection::vec((0_u8..5, 0_u32..3000), 0..1500),
    ) {
        let mut tree = items((0..start).map(|n| n * 1597 % start.max(1)).filter(|n| n % 3 == 0));
        let mut model: Vec<u32> = all(&tree).iter().map(|item| item.score as u32).collect();
        prop_assert!(model.is_sorted());
        for (op, n) in steps {
            prop_assert_eq!(tree.held.0, tree.root.heap_bytes());
            let score = f64::from(n);
            match (op, model.binary_search(&n)) {
                (0 | 1, Err(at)) => {
                    tree.insert(Item { score, position: n }, &order(score));
                    model.insert(at, n);
                }
                (2 | 3, found) => {
                    prop_assert_eq!(tree.remove(&order(score)), found.is_ok());
                    if let Ok(at) = found {
                        model.remove(at);
                    }
                }
                (4, Ok(at)) => {
                    tree.relabel(&order(score), n + 1);
                    prop_assert_eq!(tree.get(at), Some(Item { score, position: n + 1 }));
                    tree.relabel(&order(score), n);
                }
                _ => {}
            }
            prop_assert_eq!(tree.len(), model.len());
            let rank = model.partition_point(|there| *there < n);
            prop_assert_eq!(tree.partition_point(&|item| item.score < score), rank);
            prop_assert_eq!(tree.get(rank).map(|item| item.position), model.get(rank).copied());
        }
        check(&tree.root, true);
        prop_assert!(all(&tree).iter().map(|item| item.position).eq(model));
        let copy = tree.clone();
        prop_assert_eq!(copy.held.0, copy.root.heap_bytes());
    }
}
