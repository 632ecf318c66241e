//! An ordered sequence with ranks: a B+ tree whose inner nodes count the items below them.

use crate::memory::vec_heap_bytes;
use std::cmp::Ordering;

/// The most items of a leaf.
const LEAF: usize = 64;
/// The most children of an inner node.
const INNER: usize = 32;

/// A score, and the position of its member in the table. If scores are equal, the caller's comparison decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) score: f64,
    pub(super) position: u32,
}

/// Items in the caller's order. Every operation is O(log n).
#[derive(Debug)]
pub(super) struct Tree {
    root: Node,
    len: usize,
    held: Held,
}

impl Clone for Tree {
    fn clone(&self) -> Self {
        // Copies have no spare room.
        let root = self.root.clone();
        Self { held: Held(root.heap_bytes()), len: self.len, root }
    }
}

/// Bytes of heap that the nodes of a tree hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held(usize);

impl Held {
    /// Changes the items or children of a node, and counts the difference.
    fn change<T, R>(&mut self, parts: &mut Vec<T>, change: impl FnOnce(&mut Vec<T>) -> R) -> R {
        self.0 -= vec_heap_bytes(parts);
        let result = change(parts);
        self.0 += vec_heap_bytes(parts);
        result
    }

    /// Counts the items or children of a new node.
    fn add<T>(&mut self, parts: Vec<T>) -> Vec<T> {
        self.0 += vec_heap_bytes(&parts);
        parts
    }

    /// Subtracts a node that is about to be dropped, without those below it.
    fn remove(&mut self, node: &Node) {
        self.0 -= node.own_bytes();
    }
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(Vec<Item>),
    Inner(Vec<Child>),
}

#[derive(Clone, Debug)]
struct Child {
    /// The first item below; comparing with it chooses the child to descend to.
    first: Item,
    /// The number of items below.
    len: usize,
    node: Node,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { root: Node::Leaf(Vec::new()), len: 0, held: Held::default() }
    }

    /// The tree of these items, which must be in order. O(items).
    pub(super) fn of_sorted(items: &[Item]) -> Self {
        let mut nodes: Vec<Child> =
            items.chunks(LEAF).filter_map(|leaf| Child::of(Node::Leaf(leaf.to_vec()))).collect();
        while nodes.len() > 1 {
            let mut rest = nodes.into_iter();
            nodes = std::iter::from_fn(|| {
                let children: Vec<Child> = rest.by_ref().take(INNER).collect();
                Child::of(Node::Inner(children))
            })
            .collect();
        }
        let root = nodes.pop().map_or(Node::Leaf(Vec::new()), |child| child.node);
        Self { held: Held(root.heap_bytes()), len: items.len(), root }
    }

    /// Bytes of heap that it holds. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        self.held.0
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Inserts `item` before the first item that is not below it. `order` compares an existing item with it.
    pub(super) fn insert(&mut self, item: Item, order: &impl Fn(Item) -> Ordering) {
        self.len += 1;
        if let Some(right) = self.root.insert(item, order, &mut self.held) {
            let left = std::mem::replace(&mut self.root, Node::Leaf(Vec::new()));
            let children = [left, right].into_iter().filter_map(Child::of).collect();
            self.root = Node::Inner(self.held.add(children));
        }
    }

    /// Removes the item that `order` finds equal. Returns true if there is one.
    pub(super) fn remove(&mut self, order: &impl Fn(Item) -> Ordering) -> bool {
        if !self.root.remove(order, &mut self.held) {
            return false;
        }
        self.len -= 1;
        while let Node::Inner(children) = &mut self.root
            && children.len() < 2
        {
            let only = children.pop().map_or(Node::Leaf(Vec::new()), |child| child.node);
            self.held.remove(&self.root);
            self.root = only;
        }
        true
    }

    /// Sets the position of the item that `order` finds equal. Its rank stays.
    pub(super) fn relabel(&mut self, order: &impl Fn(Item) -> Ordering, position: u32) {
        self.root.relabel(order, position);
    }

    /// Changes all scores. The items must stay in order. O(n).
    pub(super) fn change_scores(&mut self, change: &impl Fn(f64) -> f64) {
        self.root.change_scores(change);
    }

    /// The number of items that satisfy `below`, which must hold for a beginning and for nothing after it.
    pub(super) fn partition_point(&self, below: &impl Fn(Item) -> bool) -> usize {
        let (mut node, mut rank) = (&self.root, 0);
        loop {
            match node {
                Node::Leaf(items) => return rank + items.partition_point(|item| below(*item)),
                Node::Inner(children) => {
                    let at = children.partition_point(|child| below(child.first)).saturating_sub(1);
                    rank += children[..at].iter().map(|child| child.len).sum::<usize>();
                    node = &children[at].node;
                }
            }
        }
    }

    /// The leaf that has the item with this rank, and the rank of its first item.
    pub(super) fn run_at(&self, rank: usize) -> (&[Item], usize) {
        let (mut node, mut rest) = (&self.root, rank);
        loop {
            match node {
                Node::Leaf(items) => return (items, rank - rest),
                Node::Inner(children) => {
                    let mut at = 0;
                    while at + 1 < children.len() && rest >= children[at].len {
                        rest -= children[at].len;
                        at += 1;
                    }
                    node = &children[at].node;
                }
            }
        }
    }

    /// The item with this rank.
    pub(super) fn get(&self, rank: usize) -> Option<Item> {
        let (items, start) = self.run_at(rank);
        items.get(rank - start).copied()
    }
}

impl Node {
    fn len(&self) -> usize {
        match self {
            Self::Leaf(items) => items.len(),
            Self::Inner(children) => children.iter().map(|child| child.len).sum(),
        }
    }

    /// Bytes of heap of the node and all nodes below. O(nodes).
    fn heap_bytes(&self) -> usize {
        let below = match self {
            Self::Leaf(_) => 0,
            Self::Inner(children) => children.iter().map(|child| child.node.heap_bytes()).sum(),
        };
        self.own_bytes() + below
    }

    /// Bytes of heap of this node alone. O(1).
    fn own_bytes(&self) -> usize {
        match self {
            Self::Leaf(items) => vec_heap_bytes(items),
            Self::Inner(children) => vec_heap_bytes(children),
        }
    }

    fn first(&self) -> Option<Item> {
        match self {
            Self::Leaf(items) => items.first().copied(),
            Self::Inner(children) => children.first().map(|child| child.first),
        }
    }

    /// The number of items or children of this node itself.
    fn width(&self) -> usize {
        match self {
            Self::Leaf(items) => items.len(),
            Self::Inner(children) => children.len(),
        }
    }

    /// Inserts an item. Returns the right part of this node if the node was split.
    fn insert(&mut self, item: Item, order: &impl Fn(Item) -> Ordering, held: &mut Held) -> Option<Self> {
        match self {
            Self::Leaf(items) => {
                let at = items.partition_point(|there| order(*there) == Ordering::Less);
                let right = held.change(items, |items| {
                    items.insert(at, item);
                    split(items, LEAF, at)
                });
                right.map(|right| Self::Leaf(held.add(right)))
            }
            Self::Inner(children) => {
                let at = way_down(children, order, Ordering::Less);
                let right = children[at].node.insert(item, order, held).and_then(Child::of);
                children[at].len += 1;
                children[at].refresh();
                let right = held.change(children, |children| {
                    if let Some(right) = right {
                        children[at].len -= right.len;
                        children.insert(at + 1, right);
                    }
                    split(children, INNER, at + 1)
                });
                right.map(|right| Self::Inner(held.add(right)))
            }
        }
    }

    fn remove(&mut self, order: &impl Fn(Item) -> Ordering, held: &mut Held) -> bool {
        match self {
            Self::Leaf(items) => match items.binary_search_by(|item| order(*item)) {
                Ok(at) => {
                    items.remove(at);
                    true
                }
                Err(_) => false,
            },
            Self::Inner(children) => {
                let at = way_down(children, order, Ordering::Equal);
                if !children[at].node.remove(order, held) {
                    return false;
                }
                children[at].len -= 1;
                tidy(children, at, held);
                true
            }
        }
    }

    fn relabel(&mut self, order: &impl Fn(Item) -> Ordering, position: u32) {
        match self {
            Self::Leaf(items) => {
                if let Ok(at) = items.binary_search_by(|item| order(*item)) {
                    items[at].position = position;
                }
            }
            Self::Inner(children) => {
                let at = way_down(children, order, Ordering::Equal);
                children[at].node.relabel(order, position);
                children[at].refresh();
            }
        }
    }

    fn change_scores(&mut self, change: &impl Fn(f64) -> f64) {
        match self {
            Self::Leaf(items) => items.iter_mut().for_each(|item| item.score = change(item.score)),
            Self::Inner(children) => children.iter_mut().for_each(|child| {
                child.node.change_scores(change);
                child.refresh();
            }),
        }
    }

    /// Appends the items or children of the node to the right.
    fn absorb(&mut self, right: Self, held: &mut Held) {
        held.remove(&right);
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => held.change(left, |left| left.extend(right)),
            (Self::Inner(left), Self::Inner(right)) => held.change(left, |left| left.extend(right)),
            _ => unreachable!("siblings are of one kind"),
        }
    }

    /// Whether this node and its sibling are small enough to be merged, with room for more.
    fn joins(&self, right: &Self) -> bool {
        let full = if matches!(self, Self::Leaf(_)) { LEAF } else { INNER };
        self.width() + right.width() <= full * 3 / 4
    }
}

impl Child {
    /// A node as a child. Returns `None` if the node is empty.
    fn of(node: Node) -> Option<Self> {
        Some(Self { first: node.first()?, len: node.len(), node })
    }

    /// Updates the first item below, after a change there.
    fn refresh(&mut self) {
        if let Some(first) = self.node.first() {
            self.first = first;
        }
    }
}

/// The index of the child to descend to: the last one that begins below the target, or, if `most` is `Equal`, at it.
fn way_down(children: &[Child], order: &impl Fn(Item) -> Ordering, most: Ordering) -> usize {
    children.partition_point(|child| order(child.first) <= most).saturating_sub(1)
}

/// Splits off the right part of a node with more than `full` parts: half of it, or the last part if it grew at its end.
/// So inserting in order leaves full nodes behind.
fn split<T>(parts: &mut Vec<T>, full: usize, grown_at: usize) -> Option<Vec<T>> {
    if parts.len() <= full {
        return None;
    }
    let at = if grown_at + 1 == parts.len() { parts.len() - 1 } else { parts.len() / 2 };
    let right = parts.split_off(at);
    parts.shrink_to_fit();
    Some(right)
}

/// Cleans up after a removal below the child at `at`: removes it if empty, or merges it with a sibling, if small.
fn tidy(children: &mut Vec<Child>, at: usize, held: &mut Held) {
    children[at].refresh();
    if children[at].len == 0 {
        held.remove(&children.remove(at).node);
        return;
    }
    for left in [at, at.wrapping_sub(1)] {
        if let Some([one, two]) = children.get(left..).and_then(|pair| pair.first_chunk())
            && one.node.joins(&two.node)
        {
            let right = children.remove(left + 1);
            children[left].node.absorb(right.node, held);
            children[left].len += right.len;
            return;
        }
    }
}

#[cfg(test)]
mod tests;
