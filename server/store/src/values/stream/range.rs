//! The entries of a log between two ids, in either direction.

use super::entry::Entry;
use super::id::StreamId;
use super::node::StreamNode;
use super::nodes::{NodeIter, Nodes};

/// A position in a node.
#[derive(Clone, Copy, Debug)]
struct NodePosition<'a> {
    node: &'a StreamNode,
    first: StreamId,
    at: usize,
}

/// Entries in ascending order.
#[derive(Clone, Debug)]
pub struct Forward<'a> {
    nodes: NodeIter<'a>,
    place: Option<NodePosition<'a>>,
    start: StreamId,
    end: StreamId,
}

impl<'a> Forward<'a> {
    pub(super) fn new(nodes: &'a Nodes, start: StreamId, end: StreamId) -> Self {
        let mut nodes = nodes.from(start);
        let place = nodes.next().map(Self::begin);
        Self { nodes, place, start, end }
    }

    fn begin((first, node): (StreamId, &'a StreamNode)) -> NodePosition<'a> {
        NodePosition { node, first, at: node.first_place() }
    }
}

impl<'a> Iterator for Forward<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            let place = self.place.as_mut()?;
            let Some(head) = place.node.head(place.first, place.at) else {
                self.place = self.nodes.next().map(Self::begin);
                continue;
            };
            place.at = head.end;
            if head.id > self.end {
                self.place = None;
            } else if head.id >= self.start && !head.is_deleted() {
                return Some(place.node.entry(&head));
            }
        }
    }
}

/// Entries in descending order.
#[derive(Clone, Debug)]
pub struct Backward<'a> {
    nodes: NodeIter<'a>,
    place: Option<NodePosition<'a>>,
    start: StreamId,
    end: StreamId,
}

impl<'a> Backward<'a> {
    pub(super) fn new(nodes: &'a Nodes, start: StreamId, end: StreamId) -> Self {
        let mut nodes = nodes.up_to(end);
        let place = nodes.next_back().map(Self::begin);
        Self { nodes, place, start, end }
    }

    fn begin((first, node): (StreamId, &'a StreamNode)) -> NodePosition<'a> {
        NodePosition { node, first, at: node.end_place() }
    }
}

impl<'a> Iterator for Backward<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            let place = self.place.as_mut()?;
            let before = place.node.before(place.at);
            let head = before.and_then(|at| Some((at, place.node.head(place.first, at)?)));
            let Some((at, head)) = head else {
                self.place = self.nodes.next_back().map(Self::begin);
                continue;
            };
            place.at = at;
            if head.id < self.start {
                self.place = None;
            } else if head.id <= self.end && !head.is_deleted() {
                return Some(place.node.entry(&head));
            }
        }
    }
}
