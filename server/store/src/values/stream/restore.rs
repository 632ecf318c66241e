//! A log node by node: how it is written to a file and read from one.

use super::entry::{Entry, Pairs};
use super::id::StreamId;
use super::log::Log;
use super::node::Node;

/// One node of a log, as it is written to a file.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    first: StreamId,
    node: &'a Node,
}

impl<'a> NodeView<'a> {
    /// The id of its first entry, deleted or not: ids within are relative to it.
    #[must_use]
    pub fn first_id(&self) -> StreamId {
        self.first
    }

    /// How many entries are not deleted, and how many are.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.node.live(), self.node.deleted())
    }

    /// The fields that entries share; the values of these pairs mean nothing.
    #[must_use]
    pub fn shared_fields(&self) -> Pairs<'a> {
        self.node.shared_fields().pairs()
    }

    /// All its entries, also those that are deleted.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let Self { first, node } = *self;
        let mut at = node.first_place();
        std::iter::from_fn(move || {
            let head = node.head(first, at)?;
            at = head.end;
            Some(node.entry(&head))
        })
    }
}

impl Log {
    /// All nodes, in the order of their ids.
    pub fn node_views(&self) -> impl Iterator<Item = NodeView<'_>> {
        self.nodes.iter().map(|(first, node)| NodeView { first, node })
    }

    /// Adds an empty node behind all others, for entries with these fields. [`Log::push_restored`] fills it, with one
    /// entry at least, and [`Log::finish_restored`] ends the log.
    pub fn push_node(&mut self, first: StreamId, fields: &[&[u8]]) {
        self.nodes.close();
        self.nodes.append(|| (first, Node::new(fields.iter().copied())), |_, _| {});
    }

    /// Adds an entry to the last node: its values, or the pairs of fields and values where it has its own.
    pub fn push_restored(&mut self, id: StreamId, is_deleted: bool, own_fields: bool, texts: &[&[u8]]) {
        let make = || (id, Node::new([].into_iter()));
        self.nodes.append(make, |first, node| {
            let at = node.end_place();
            node.push(first, id, own_fields, texts.iter().copied());
            if is_deleted {
                node.delete_at(at);
            }
        });
    }

    /// Counts what has been added by [`Log::push_restored`], and sets what is known of all entries there ever were.
    ///
    /// `first_id`: what is recorded as the id of the first entry, which is taken as it is; `None` where nothing is: it
    /// is looked for, and a log without entries has the greatest id there is, as in Redis.
    pub fn finish_restored(
        &mut self,
        first_id: Option<StreamId>,
        last_id: StreamId,
        entries_added: u64,
        max_deleted_id: StreamId,
    ) {
        self.recount();
        self.record_first(first_id.unwrap_or(if self.is_empty() { StreamId::MAX } else { self.first_id() }));
        self.set_counters(last_id, entries_added, max_deleted_id);
    }
}
