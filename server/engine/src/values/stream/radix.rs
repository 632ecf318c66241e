//! How many nodes Redis' radix tree of a log would have: XINFO STREAM tells.

use super::id::StreamId;
use super::log::Log;

/// Bytes of an id as a key.
const KEY: usize = 16;

/// What has been counted of the tree of keys that come in their order.
#[derive(Debug, Default)]
struct RadixTree {
    nodes: usize,
    last: Option<[u8; KEY]>,
    /// The lengths of the beginnings of the last key after which the tree branches, the shortest first.
    branches: Vec<usize>,
}

impl RadixTree {
    /// Adds the next key.
    ///
    /// A key ends in a node, and each branch is one. So is all that stands between two of these, where it is more than
    /// the one byte that chooses the branch.
    fn add(&mut self, key: [u8; KEY]) {
        if let Some(last) = self.last {
            let common = last.iter().zip(&key).take_while(|(a, b)| a == b).count();
            let mut below = KEY;
            while let Some(branch) = self.branches.pop_if(|branch| *branch > common) {
                self.nodes += Self::between(Some(branch), below);
                below = branch;
            }
            self.nodes += Self::between(Some(common), below);
            if self.branches.last() != Some(&common) {
                self.nodes += 1;
                self.branches.push(common);
            }
        }
        self.nodes += 1;
        self.last = Some(key);
    }

    /// Nodes between a branch, or the root, and what is below it.
    fn between(branch: Option<usize>, below: usize) -> usize {
        let begin = branch.map_or(0, |branch| branch + 1);
        usize::from(below > begin)
    }

    /// All nodes; the root is one of them.
    fn finish(mut self) -> usize {
        if self.last.is_none() {
            return 1;
        }
        let mut below = KEY;
        while let Some(branch) = self.branches.pop() {
            self.nodes += Self::between(Some(branch), below);
            below = branch;
        }
        self.nodes + Self::between(None, below)
    }
}

impl Log {
    /// The number of nodes of the radix tree in which Redis keeps the nodes of a log. O(nodes).
    #[must_use]
    pub fn radix_nodes(&self) -> usize {
        let mut tree = RadixTree::default();
        for (first, _) in self.nodes.iter() {
            tree.add(key_of(first));
        }
        tree.finish()
    }
}

/// An id as a key: both numbers, the highest byte first.
fn key_of(id: StreamId) -> [u8; KEY] {
    let mut key = [0; KEY];
    key[..8].copy_from_slice(&id.ms.to_be_bytes());
    key[8..].copy_from_slice(&id.seq.to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(ids: &[(u64, u64)]) -> usize {
        let mut tree = RadixTree::default();
        ids.iter().for_each(|&(ms, seq)| tree.add(key_of(StreamId::new(ms, seq))));
        tree.finish()
    }

    /// What redis-server 7.0.15 answers for streams with an entry a node.
    #[test]
    fn nodes_are_those_of_the_real_server() {
        assert_eq!(count(&[]), 1);
        assert_eq!(count(&[(1, 1)]), 2);
        assert_eq!(count(&[(1, 1), (1, 2)]), 4);
    }
}
