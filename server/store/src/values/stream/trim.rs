//! Trimming a log from its beginning.

use super::id::StreamId;
use super::log::Log;
use super::node::StreamNode;

/// The entries that trimming keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The last entries, up to this number.
    Last(usize),
    /// The entries from this id on.
    From(StreamId),
}

/// The parameters of trimming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// The entries to keep.
    pub keep: Keep,
    /// Whether only whole nodes are removed, so that more entries may be kept.
    pub whole_nodes: bool,
    /// The most entries to remove. A node with more entries than that is kept. 0: no limit.
    pub limit: usize,
}

impl Log {
    /// Removes entries from the beginning; returns their number, and the removed nodes. Many nodes take long to free.
    /// O(nodes removed + entries of a node).
    pub fn trim(&mut self, trim: Trim) -> (usize, TrimmedNodes) {
        let (mut removed, mut gone) = (0_usize, TrimmedNodes::default());
        loop {
            let len = self.len();
            if let Keep::Last(most) = trim.keep
                && len <= most
            {
                break;
            }
            let Some((first, node)) = self.nodes.first_mut() else { break };
            let live = node.live();
            if trim.limit > 0 && removed + live > trim.limit {
                break;
            }
            let is_whole = match trim.keep {
                Keep::Last(most) => len - live >= most,
                Keep::From(id) => node.last_id(first) < id,
            };
            if !is_whole {
                if !trim.whole_nodes {
                    let cut = cut(node, first, trim.keep, len);
                    self.forget(cut);
                    removed += cut;
                }
                break;
            }
            gone.0.extend(self.nodes.remove(first));
            self.forget(live);
            removed += live;
        }
        if removed > 0 {
            self.find_first();
        }
        (removed, gone)
    }
}

/// Deletes entries at the beginning of a node that stays, of a log of `len` entries. Returns their number.
fn cut(node: &mut StreamNode, first: StreamId, keep: Keep, len: usize) -> usize {
    let (mut at, mut deleted) = (node.first_place(), 0);
    while let Some(head) = node.head(first, at) {
        let is_kept = match keep {
            Keep::Last(most) => len - deleted <= most,
            Keep::From(id) => head.id >= id,
        };
        if is_kept {
            break;
        }
        if !head.is_deleted() {
            node.delete_at(at);
            deleted += 1;
        }
        at = head.end;
    }
    deleted
}

/// Nodes that were removed by trimming. Dropping them frees them.
#[derive(Clone, Debug, Default)]
pub struct TrimmedNodes(Vec<StreamNode>);

impl TrimmedNodes {
    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
