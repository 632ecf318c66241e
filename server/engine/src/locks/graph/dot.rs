//! The graph of waits as text for Graphviz.

use super::wait_graph::LockWaits;

/// The text: owners and locks are nodes. An arrow leads from each waiter to the lock, from the lock to each holder, and
/// through the places of its queue to those who want it together with others. Names that are left out are counted.
pub(super) fn text(locks: &[LockWaits], left_out: usize) -> Vec<u8> {
    let mut text = Text { text: b"digraph locks {\n".to_vec() };
    if left_out > 0 {
        text.put(&format!("  // left out: {left_out}\n"));
    }
    locks.iter().for_each(|lock| text.lock(lock));
    text.put("}\n");
    text.text
}

/// A text that grows.
struct Text {
    text: Vec<u8>,
}

/// A node.
#[derive(Clone, Copy)]
enum Node<'n> {
    Owner(&'n [u8]),
    Lock(&'n [u8]),
    /// The first so many places in the queue of a lock.
    Places(&'n [u8], usize),
}

impl Text {
    fn put(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn lock(&mut self, lock: &LockWaits) {
        self.declare(Node::Lock(&lock.key));
        for waiter in &lock.waiters {
            if waiter.holders > 0 {
                self.arrow(Node::Owner(&waiter.owner), Node::Lock(&lock.key));
            }
            let ahead = waiter.ahead.min(lock.ahead.len());
            if ahead > 0 {
                self.arrow(Node::Owner(&waiter.owner), Node::Places(&lock.key, ahead));
            }
        }
        for holder in &lock.holders {
            self.arrow(Node::Lock(&lock.key), Node::Owner(holder));
        }
        for (before, owner) in lock.ahead.iter().enumerate() {
            let places = Node::Places(&lock.key, before + 1);
            self.declare(places);
            self.arrow(places, Node::Owner(owner));
            if before > 0 {
                self.arrow(places, Node::Places(&lock.key, before));
            }
        }
    }

    fn declare(&mut self, node: Node<'_>) {
        self.put("  ");
        self.node(node);
        self.put(" [shape=box];\n");
    }

    fn arrow(&mut self, from: Node<'_>, to: Node<'_>) {
        self.put("  ");
        self.node(from);
        self.put(" -> ");
        self.node(to);
        self.put(";\n");
    }

    /// A node by its name, which is its label too. Of owners no name has a line break, so no owner is called as a lock.
    fn node(&mut self, node: Node<'_>) {
        self.put("\"");
        match node {
            Node::Owner(name) => self.name(name),
            Node::Lock(key) => {
                self.put("lock\\n");
                self.name(key);
            }
            Node::Places(key, count) => {
                self.put(&format!("queue, first {count}\\n"));
                self.name(key);
            }
        }
        self.put("\"");
    }

    /// A name; what cannot stand between quotes in hexadecimal.
    fn name(&mut self, name: &[u8]) {
        for &byte in name {
            match byte {
                b'"' => self.put("\\\""),
                b'\\' => self.put("\\\\"),
                b' '..=b'~' => self.text.push(byte),
                _ => self.put(&format!("\\\\x{byte:02x}")),
            }
        }
    }
}
