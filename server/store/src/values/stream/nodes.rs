//! The nodes of a stream in the order of their ids.

use super::id::StreamId;
use super::node::StreamNode;
use super::radix::{Keys, nodes_of};
use crate::memory::tree_heap_bytes;
use std::collections::{BTreeMap, btree_map};

/// Nodes by their first ids. Entries are appended to the last one.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// All nodes except the last.
    closed: BTreeMap<StreamId, StreamNode>,
    /// The last node, if there is any.
    open: Option<(StreamId, StreamNode)>,
    bytes: usize,
    /// The nodes of the radix tree that Redis would have, without its root.
    radix: usize,
}

impl Clone for Nodes {
    fn clone(&self) -> Self {
        let (closed, open) = (self.closed.clone(), self.open.clone());
        let mut copy = Self { closed, open, bytes: 0, radix: self.radix };
        // Copies have no spare room.
        copy.recount();
        copy
    }
}

impl Nodes {
    /// The number of nodes. O(1).
    pub(super) fn len(&self) -> usize {
        self.closed.len() + usize::from(self.open.is_some())
    }

    /// The number of nodes of the radix tree in which Redis would keep these nodes. O(1).
    pub(super) fn radix_nodes(&self) -> usize {
        self.radix + 1
    }

    /// Bytes of heap of all nodes. O(1).
    pub(super) fn heap_bytes(&self) -> usize {
        let trees = usize::from(!self.closed.is_empty());
        self.bytes + tree_heap_bytes(trees, self.closed.len(), size_of::<(StreamId, StreamNode)>())
    }

    /// Counts the memory of all nodes again. O(n).
    pub(super) fn recount(&mut self) {
        self.bytes = self.iter().map(|(_, node)| node.heap_bytes()).sum();
    }

    /// All nodes with their first ids.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (StreamId, &StreamNode)> + Clone {
        let open = self.open.iter().map(|(first, node)| (*first, node));
        self.closed.iter().map(|(first, node)| (*first, node)).chain(open)
    }

    #[inline]
    pub(super) fn last(&self) -> Option<&StreamNode> {
        self.open.as_ref().map(|(_, node)| node)
    }

    /// Lets `append` change the last node, which `make` makes if there is none.
    #[inline]
    pub(super) fn append(
        &mut self,
        make: impl FnOnce() -> (StreamId, StreamNode),
        append: impl FnOnce(StreamId, &mut StreamNode),
    ) {
        if let Some((first, node)) = &mut self.open {
            let before = node.heap_bytes();
            append(*first, node);
            self.bytes = self.bytes - before + node.heap_bytes();
            return;
        }
        // The node is stored only once it has an entry, even if memory for the entry is short.
        let (first, mut node) = make();
        append(first, &mut node);
        self.bytes += node.heap_bytes();
        self.open = Some((first, node));
        self.radix += nodes_of(self, first);
    }

    /// Closes the last node, which is full. The next entry makes a new node.
    pub(super) fn close(&mut self) {
        if let Some((first, mut node)) = self.open.take() {
            self.bytes -= node.heap_bytes();
            node.close();
            self.bytes += node.heap_bytes();
            self.closed.insert(first, node);
        }
    }

    /// The node that may have the entry with this id, if there is one.
    pub(super) fn find_mut(&mut self, id: StreamId) -> Option<(StreamId, &mut StreamNode)> {
        match &mut self.open {
            Some((first, node)) if id >= *first => Some((*first, node)),
            _ => self.closed.range_mut(..=id).next_back().map(|(first, node)| (*first, node)),
        }
    }

    pub(super) fn first_mut(&mut self) -> Option<(StreamId, &mut StreamNode)> {
        match self.closed.first_entry() {
            Some(entry) => Some((*entry.key(), entry.into_mut())),
            None => self.open.as_mut().map(|(first, node)| (*first, node)),
        }
    }

    /// Removes the node with this first id.
    pub(super) fn remove(&mut self, first: StreamId) -> Option<StreamNode> {
        if self.at_or_after(first) == Some(first) {
            self.radix -= nodes_of(self, first);
        }
        let removed = match self.open.take_if(|(open, _)| *open == first) {
            Some((_, node)) => {
                // The node that is now the last takes new entries.
                self.open = self.closed.pop_last();
                Some(node)
            }
            None => self.closed.remove(&first),
        };
        self.bytes -= removed.as_ref().map_or(0, StreamNode::heap_bytes);
        removed
    }

    /// The nodes from the one on that may have the entry `start`.
    pub(super) fn from(&self, start: StreamId) -> NodeIter<'_> {
        let begin = self.at_or_before(start).unwrap_or(StreamId::MIN);
        let open = self.open.as_ref().map(|(first, node)| (*first, node));
        NodeIter { closed: self.closed.range(begin..), open }
    }

    /// The nodes up to the one that may have the entry `end`.
    pub(super) fn up_to(&self, end: StreamId) -> NodeIter<'_> {
        let open = self.open.as_ref().filter(|(first, _)| *first <= end);
        let open = open.map(|(first, node)| (*first, node));
        NodeIter { closed: self.closed.range(..=end), open }
    }
}

impl Keys for Nodes {
    fn at_or_after(&self, id: StreamId) -> Option<StreamId> {
        let open = || self.open.as_ref().map(|(first, _)| *first).filter(|first| *first >= id);
        self.closed.range(id..).next().map(|(first, _)| *first).or_else(open)
    }

    fn at_or_before(&self, id: StreamId) -> Option<StreamId> {
        match &self.open {
            Some((first, _)) if *first <= id => Some(*first),
            _ => self.closed.range(..=id).next_back().map(|(first, _)| *first),
        }
    }
}

/// A range of nodes, iterated from either end.
#[derive(Clone, Debug)]
pub(super) struct NodeIter<'a> {
    closed: btree_map::Range<'a, StreamId, StreamNode>,
    open: Option<(StreamId, &'a StreamNode)>,
}

impl<'a> Iterator for NodeIter<'a> {
    type Item = (StreamId, &'a StreamNode);

    fn next(&mut self) -> Option<Self::Item> {
        self.closed.next().map(|(first, node)| (*first, node)).or_else(|| self.open.take())
    }
}

impl DoubleEndedIterator for NodeIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.open.take().or_else(|| self.closed.next_back().map(|(first, node)| (*first, node)))
    }
}
