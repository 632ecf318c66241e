//! The lines that describe nodes in CLUSTER NODES and in `nodes.conf`.

use super::node::{Node, NodeNumber};
use super::slot::SLOTS;
use super::view::ClusterView;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the ranges of consecutive slots with the same owner, in order: first slot, last slot, owner. O(slots).
pub(crate) fn ranges(view: &ClusterView) -> Vec<(u16, u16, NodeNumber)> {
    let mut found: Vec<(u16, u16, NodeNumber)> = Vec::new();
    for (slot, owner) in (0..SLOTS).zip(view.owners()) {
        let Some(owner) = *owner else { continue };
        match found.last_mut() {
            Some((_, last, of)) if *of == owner && *last + 1 == slot => *last = slot,
            _ => found.push((slot, slot, owner)),
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A client, connected with or without TLS.
    Client { tls: bool },
    /// The node itself, at its next start.
    File,
}

impl ClusterView {
    /// Returns the lines of the nodes for which `wanted` holds. O(slots + nodes).
    pub(crate) fn describe(&self, reader: Reader, wanted: impl Fn(NodeNumber, &Node) -> bool) -> Vec<String> {
        let mut slots: BTreeMap<NodeNumber, String> = BTreeMap::new();
        for (first, last, owner) in ranges(self) {
            let text = slots.entry(owner).or_default();
            let _ = if first == last { write!(text, " {first}") } else { write!(text, " {first}-{last}") };
        }
        let nodes = self.nodes().filter(|(number, node)| wanted(*number, node));
        nodes.map(|(number, node)| self.line(reader, number, node, slots.get(&number))).collect()
    }

    fn line(&self, reader: Reader, number: NodeNumber, node: &Node, slots: Option<&String>) -> String {
        let port = node.client_port(reader == Reader::Client { tls: true });
        let mut line = format!("{} {}:{}@{}", node.id, node.ip, port, node.bus_port);
        let extra = if reader == Reader::File { node.extra.as_str() } else { "" };
        if !node.hostname.is_empty() || !extra.is_empty() {
            let _ = write!(line, ",{}", node.hostname);
        }
        if !extra.is_empty() {
            let _ = write!(line, ",{extra}");
        }
        let master = node.master.and_then(|master| self.node(master));
        let followed = master.map_or("-".to_owned(), |master| master.id.to_string());
        let epoch =
            master.filter(|_| node.is_replica()).map_or(node.config_epoch, |master| master.config_epoch);
        let is_me = number == self.my_number();
        let link = if is_me || node.is_linked { "connected" } else { "disconnected" };
        let (flags, sent, received) = (node.flags, node.ping_sent_ms, node.pong_received_ms);
        let _ = write!(line, " {flags} {followed} {sent} {received} {epoch} {link}");
        line.push_str(slots.map_or("", String::as_str));
        if is_me {
            self.describe_open_slots(&mut line);
        }
        line
    }

    /// Appends the slots that are being migrated or imported, in order.
    fn describe_open_slots(&self, line: &mut String) {
        let (migrating, importing) = self.open_slots();
        let leaving = migrating.iter().map(|(slot, to)| (*slot, "->-", *to));
        let arriving = importing.iter().filter(|(slot, _)| !migrating.contains_key(slot));
        let mut open: Vec<_> = leaving.chain(arriving.map(|(slot, from)| (*slot, "-<-", *from))).collect();
        open.sort_unstable_by_key(|(slot, ..)| *slot);
        for (slot, arrow, other) in open {
            if let Some(other) = self.node(other) {
                let _ = write!(line, " [{slot}{arrow}{}]", other.id);
            }
        }
    }
}
