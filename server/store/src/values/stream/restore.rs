//! Reading and writing of a log node by node, from and to a file.

use super::entry::{Entry, Pairs};
use super::id::StreamId;
use super::log::Log;
use super::node::StreamNode;

/// One node of a log, for writing to a file.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    first: StreamId,
    node: &'a StreamNode,
}

impl<'a> NodeView<'a> {
    /// The id of the node's first entry, deleted or not. Ids within the node are relative to it.
    #[must_use]
    pub fn first_id(&self) -> StreamId {
        self.first
    }

    /// The number of entries that are not deleted, and the number of deleted ones.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.node.live(), self.node.deleted())
    }

    /// The fields that entries share. The values of these pairs have no meaning.
    #[must_use]
    pub fn shared_fields(&self) -> Pairs<'a> {
        self.node.shared_fields().pairs()
    }

    /// All entries of the node, including deleted ones.
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

    /// Adds an empty node behind all others, for entries with these fields. [`Log::push_restored`] must fill it with at
    /// least one entry. [`Log::finish_restored`] ends the log.
    pub fn push_node(&mut self, first: StreamId, fields: &[&[u8]]) {
        self.nodes.close();
        self.nodes.append(|| (first, StreamNode::new(fields.iter().copied())), |_, _| {});
    }

    /// Adds an entry to the last node. `texts` are its values, or pairs of fields and values if it has its own fields.
    pub fn push_restored(&mut self, id: StreamId, is_deleted: bool, own_fields: bool, texts: &[&[u8]]) {
        let make = || (id, StreamNode::new([].into_iter()));
        self.nodes.append(make, |first, node| {
            let at = node.end_place();
            node.push(first, id, own_fields, texts.iter().copied());
            if is_deleted {
                node.delete_at(at);
            }
        });
    }

    /// Counts the entries that [`Log::push_restored`] has added, and sets the counters of all ever added. `first_id`,
    /// the recorded first id, is not checked; `None`: it is searched, and the greatest id without entries, as in Redis.
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
