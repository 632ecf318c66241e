//! The graph of waits as text for Graphviz.

use super::wait_graph::LockWaits;

/// Returns the text. Arrows lead from each waiter to the lock, from the lock to each holder, and through the places of
/// the queue to owners that want several locks. The text counts the names that are left out.
pub(super) fn text(locks: &[LockWaits], left_out: usize) -> Vec<u8> {
    let mut text = Text { text: b"digraph locks {\n".to_vec() };
    if left_out > 0 {
        text.put(&format!("  // left out: {left_out}\n"));
    }
    locks.iter().enumerate().for_each(|(number, lock)| text.lock(number, lock));
    text.put("}\n");
    text.text
}

/// Returns the most bytes that a name takes: two arrows may begin at a waiter.
pub(super) fn cost(name: &[u8]) -> usize {
    let written = name.iter().map(|byte| match byte {
        b'"' | b'\\' => 2,
        b' '..=b'~' => 1,
        _ => r"\\x00".len(),
    });
    2 * written.sum::<usize>()
}

struct Text {
    text: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Node<'n> {
    Owner(&'n [u8]),
    Lock(usize),
    /// The first places in the queue of a lock: its number, and the number of places.
    Places(usize, usize),
}

impl Text {
    fn put(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn lock(&mut self, number: usize, lock: &LockWaits) {
        self.declare(Node::Lock(number), |text| {
            text.put("lock\\n");
            text.name(&lock.key);
        });
        for waiter in &lock.waiters {
            if waiter.holders > 0 {
                self.arrow(Node::Owner(&waiter.owner), Node::Lock(number));
            }
            let ahead = waiter.ahead.min(lock.ahead.len());
            if ahead > 0 {
                self.arrow(Node::Owner(&waiter.owner), Node::Places(number, ahead));
            }
        }
        for holder in &lock.holders {
            self.arrow(Node::Lock(number), Node::Owner(holder));
        }
        for (before, owner) in lock.ahead.iter().enumerate() {
            let places = Node::Places(number, before + 1);
            self.declare(places, |text| text.put(&format!("queue, first {}", before + 1)));
            self.arrow(places, Node::Owner(owner));
            if before > 0 {
                self.arrow(places, Node::Places(number, before));
            }
        }
    }

    /// Writes a node, with the label that `label` writes.
    fn declare(&mut self, node: Node<'_>, label: impl FnOnce(&mut Text)) {
        self.put("  ");
        self.node(node);
        self.put(" [shape=box, label=\"");
        label(self);
        self.put("\"];\n");
    }

    fn arrow(&mut self, from: Node<'_>, to: Node<'_>) {
        self.put("  ");
        self.node(from);
        self.put(" -> ");
        self.node(to);
        self.put(";\n");
    }

    /// Writes a reference: an owner's name, or a lock's number. Names have no line break, so none equals a reference.
    fn node(&mut self, node: Node<'_>) {
        self.put("\"");
        match node {
            Node::Owner(name) => self.name(name),
            Node::Lock(number) => self.put(&format!("lock\\n{number}")),
            Node::Places(number, count) => self.put(&format!("lock\\n{number}, first {count}")),
        }
        self.put("\"");
    }

    /// Writes a name, with bytes that cannot stand between quotes in hexadecimal.
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
