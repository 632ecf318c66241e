//! The graph of waits as text for Graphviz.

use super::edges::Edge;
use std::collections::BTreeSet;

/// The text: an arrow from each waiter to each holder, labelled with the lock; and how many are left out.
pub(super) fn text(edges: &BTreeSet<Edge>, left_out: usize) -> Vec<u8> {
    let mut text = b"digraph locks {\n".to_vec();
    if left_out > 0 {
        text.extend_from_slice(format!("  // left out: {left_out}\n").as_bytes());
    }
    for edge in edges {
        text.extend_from_slice(b"  ");
        quote(&edge.waiter, &mut text);
        text.extend_from_slice(b" -> ");
        quote(&edge.holder, &mut text);
        text.extend_from_slice(b" [label=");
        quote(&edge.key, &mut text);
        text.extend_from_slice(b"];\n");
    }
    text.extend_from_slice(b"}\n");
    text
}

/// A name between quotes; what cannot stand there in hexadecimal.
fn quote(name: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for &byte in name {
        match byte {
            b'"' => text.extend_from_slice(b"\\\""),
            b'\\' => text.extend_from_slice(b"\\\\"),
            b' '..=b'~' => text.push(byte),
            _ => text.extend_from_slice(format!("\\\\x{byte:02x}").as_bytes()),
        }
    }
    text.push(b'"');
}
