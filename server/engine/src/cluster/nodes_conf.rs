//! A node's file with its view (`cluster-config-file`), in Redis' format. Fields that later releases add are kept.

use super::describe::Reader;
use super::node::{Node, NodeId, NodeNumber};
use super::node_flags::NodeFlags;
use super::slot::SLOTS;
use super::view::{ClusterView, default_bus_port};
use crate::config::system_reason;
use crate::spec::atoi;
use lockwheel_resp::split_words;
use std::collections::BTreeMap;
use std::io;

/// An error in a file: the number of the wrong line, from 1, and the line; 0 if no line describes this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodesFileError {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// Returns the text of a view. O(slots + nodes).
pub(crate) fn write(view: &ClusterView) -> Vec<u8> {
    let lines = view.describe(Reader::File, |_, node| !node.flags.contains(NodeFlags::HANDSHAKE));
    let mut text: String = lines.into_iter().map(|line| line + "\n").collect();
    let (current, voted) = (view.current_epoch, view.last_vote_epoch);
    text.push_str(&format!("vars currentEpoch {current} lastVoteEpoch {voted}\n"));
    text.into_bytes()
}

/// Reads a view. Returns `None` for an empty text, or the first invalid line. O(length of the text).
pub(crate) fn read(text: &[u8], now_ms: i64) -> Result<Option<ClusterView>, NodesFileError> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut reading = Reading { now_ms, ..Reading::default() };
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() || line[0] == 0 {
            continue;
        }
        let broken = || NodesFileError { line: at + 1, text: String::from_utf8_lossy(line).into_owned() };
        let words = split_words(line).ok_or_else(broken)?;
        let words: Vec<&str> = words
            .iter()
            .map(|word| std::str::from_utf8(word))
            .collect::<Result<_, _>>()
            .map_err(|_| broken())?;
        reading.add(&words).ok_or_else(broken)?;
    }
    let missing = NodesFileError { line: 0, text: "no node is this one".to_owned() };
    reading.finish().map(Some).ok_or(missing)
}

/// Loads the view, if there is one yet, from a file, which this server locks from now on. If the file is refused,
/// returns the reason: lines as Redis logs them, with the invalid line.
pub(crate) fn load(
    file: &str,
    claim: impl FnOnce(&str) -> io::Result<()>,
    bytes: impl FnOnce(&str) -> io::Result<Vec<u8>>,
    now_ms: i64,
) -> Result<Option<ClusterView>, String> {
    if file.is_empty() {
        return Ok(None);
    }
    claim(file).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => format!(
            "Sorry, the cluster configuration file {file} is already used by a different Redis Cluster node. \
             Please make sure that different nodes use different cluster configuration files."
        ),
        _ => format!("Can't open {file} in order to acquire a lock: {}", system_reason(&error)),
    })?;
    let text = match bytes(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let why = system_reason(&error);
            return Err(format!("Loading the cluster node config from {file}: {why}"));
        }
    };
    read(&text, now_ms).map_err(|NodesFileError { line, text }| {
        let line =
            if line > 0 { format!(" Line {line} of {file}: {text}") } else { format!(" {file}: {text}") };
        format!("Unrecoverable error: corrupted cluster config file.{line}")
    })
}

#[derive(Default)]
struct Reading {
    now_ms: i64,
    /// The nodes by name, in the order of their first occurrence, each with the name of its master.
    nodes: Vec<(Node, Option<NodeId>)>,
    myself: Option<NodeId>,
    slots: BTreeMap<u16, NodeId>,
    migrating: BTreeMap<u16, NodeId>,
    importing: BTreeMap<u16, NodeId>,
    current_epoch: u64,
    last_vote_epoch: u64,
}

/// The number of words before the slots in a line.
const FIELDS: usize = 8;

impl Reading {
    /// Reads the words of a line. Returns `None` if it is invalid.
    fn add(&mut self, words: &[&str]) -> Option<()> {
        let (first, _) = words.split_first()?;
        if first.eq_ignore_ascii_case("vars") {
            return self.add_variables(words);
        }
        if words.len() < FIELDS {
            return None;
        }
        let id = NodeId::parse(first.as_bytes())?;
        let mut node = Node::new(id);
        read_address(&mut node, words[1])?;
        node.flags = NodeFlags::parse(words[2])?;
        if node.flags.contains(NodeFlags::MYSELF) && self.myself.replace(id).is_some() {
            return None;
        }
        let master = match words[3] {
            none if none.starts_with('-') => None,
            name => Some(NodeId::parse(name.as_bytes())?),
        };
        let stamp = |word: &str| if atoi(word.as_bytes()) == 0 { 0 } else { self.now_ms };
        (node.ping_sent_ms, node.pong_received_ms) = (stamp(words[4]), stamp(words[5]));
        let is_replica = node.is_replica() && master.is_some();
        node.config_epoch = if is_replica { 0 } else { number(words[6]) };
        let unreachable = NodeFlags::FAILED | NodeFlags::MAY_HAVE_FAILED | NodeFlags::NO_ADDRESS;
        node.is_linked = !node.flags.intersects(unreachable | NodeFlags::HANDSHAKE);
        words[FIELDS..].iter().try_for_each(|word| self.add_slots(id, word))?;
        match self.nodes.iter_mut().find(|(known, _)| known.id == id) {
            Some(known) => *known = (node, master),
            None => self.nodes.push((node, master)),
        }
        Some(())
    }

    fn add_variables(&mut self, words: &[&str]) -> Option<()> {
        if words.len().is_multiple_of(2) {
            return None;
        }
        for pair in words[1..].chunks_exact(2) {
            match pair[0].to_ascii_lowercase().as_str() {
                "currentepoch" => self.current_epoch = number(pair[1]),
                "lastvoteepoch" => self.last_vote_epoch = number(pair[1]),
                name => tracing::info!("Skipping unknown cluster config variable '{name}'"),
            }
        }
        Some(())
    }

    /// Reads `5`, `5-9`, `[5->-id]` or `[5-<-id]`.
    fn add_slots(&mut self, of: NodeId, word: &str) -> Option<()> {
        if let Some(open) = word.strip_prefix('[') {
            let (slot, rest) = open.split_once('-')?;
            let other = NodeId::parse(rest.get(2..)?.strip_suffix(']')?.as_bytes())?;
            let slot = slot_in(slot)?;
            match rest.get(..2)? {
                ">-" => self.migrating.insert(slot, other),
                _ => self.importing.insert(slot, other),
            };
            return Some(());
        }
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        for slot in slot_in(first)?..=slot_in(last)? {
            self.slots.entry(slot).or_insert(of);
        }
        Some(())
    }

    /// Returns the view. `None` if no line describes this node.
    fn finish(self) -> Option<ClusterView> {
        let myself = self.myself?;
        let named = self.nodes.iter().filter_map(|(_, master)| *master);
        let named = named.chain(self.migrating.values().copied()).chain(self.importing.values().copied());
        let unknown: Vec<NodeId> =
            named.filter(|id| self.nodes.iter().all(|(node, _)| node.id != *id)).collect();
        let mut nodes = self.nodes.into_iter();
        let (first, master) = nodes.next()?;
        let mut masters = vec![(NodeNumber::FIRST, master)];
        let flags = first.flags;
        let mut view = ClusterView::alone(first);
        view.me_mut().flags = flags;
        for (node, master) in nodes {
            masters.push((view.add_node(node), master));
        }
        for id in unknown {
            if view.find(id.as_bytes()).is_none() {
                view.add_node(Node::new(id));
            }
        }
        view.become_node(view.find(myself.as_bytes())?);
        for (number, master) in masters {
            let master = master.and_then(|master| view.find(master.as_bytes()));
            if let Some(node) = view.node_mut(number) {
                node.master = master;
            }
        }
        for (slot, id) in &self.slots {
            view.assign(*slot, view.find(id.as_bytes()));
        }
        for (slot, id) in &self.migrating {
            view.set_migrating(*slot, view.find(id.as_bytes()));
        }
        for (slot, id) in &self.importing {
            view.set_importing(*slot, view.find(id.as_bytes()));
        }
        view.last_vote_epoch = self.last_vote_epoch;
        view.current_epoch = self.current_epoch;
        view.current_epoch = view.max_epoch();
        Some(view)
    }
}

/// Reads `ip:port[@bus-port][,hostname[,name=value]…]`.
fn read_address(node: &mut Node, word: &str) -> Option<()> {
    let (address, names) = word.split_once(',').unwrap_or((word, ""));
    let (hostname, extra) = names.split_once(',').unwrap_or((names, ""));
    if !extra.is_empty() && !extra.split(',').all(|field| field.split('=').count() == 2) {
        return None;
    }
    (node.hostname, node.extra) = (hostname.to_owned(), extra.to_owned());
    let (ip, ports) = address.rsplit_once(':')?;
    let (port, bus_port) = ports.split_once('@').map_or((ports, None), |(port, bus)| (port, Some(bus)));
    node.ip = ip.to_owned();
    node.port = port_in(port);
    node.bus_port = bus_port.map_or(default_bus_port(node.port), port_in);
    Some(())
}

fn port_in(text: &str) -> u16 {
    u16::try_from(atoi(text.as_bytes())).unwrap_or(0)
}

fn slot_in(text: &str) -> Option<u16> {
    u16::try_from(atoi(text.as_bytes())).ok().filter(|slot| *slot < SLOTS)
}

/// Reads a number as C's `strtoull` does: 0 if there is none.
fn number(text: &str) -> u64 {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().unwrap_or(if digits > 0 { u64::MAX } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "1376241dd7751d12b8901c9c0b6ade22899f4913";
    const B: &str = "a23cb81d6dafd14fe3346fcff21c682f226fea9e";
    const C: &str = "c52f8f2d129ab396f01ea29cd50a594a4f758c6d";

    fn view(text: &str) -> Result<Option<ClusterView>, NodesFileError> {
        read(text.as_bytes(), 7)
    }

    #[test]
    fn a_nodes_file_is_written_back_unchanged() {
        let text = format!(
            "{A} 127.0.0.1:7001@17001 myself,master - 0 0 3 connected 0-5 7 [3->-{B}] [9-<-{C}]\n\
             {B} 127.0.0.1:7002@17002,b.example master - 0 7 2 connected 8-16383\n\
             {C} 127.0.0.1:7003@17003,,shard-id={A} slave {B} 0 7 2 connected\n\
             vars currentEpoch 6 lastVoteEpoch 1\n"
        );
        let view = view(&text).unwrap().unwrap();
        assert_eq!(String::from_utf8(write(&view)).unwrap(), text);
        assert_eq!(view.current_epoch, 6);
    }

    #[test]
    fn a_nodes_file_may_lack_the_bus_port_and_have_old_epochs() {
        let text =
            format!("{A} 127.0.0.1:7001 myself,master - 0 0 9 connected 0-16383\nvars currentEpoch 0\n");
        let view = view(&text).unwrap().unwrap();
        assert_eq!((view.me().bus_port, view.current_epoch, view.me().slots), (17001, 9, 16384));
    }

    #[test]
    fn a_malformed_line_is_reported() {
        assert_eq!(view(""), Ok(None));
        let node = format!("{A} 127.0.0.1:7001 myself,master - 0 0 9 connected");
        for line in [
            "nonsense",
            "vars currentEpoch",
            "\"",
            &format!("{A} 127.0.0.1 master - 0 0 9 connected"),
            &format!("{A} 127.0.0.1:1 marter - 0 0 9 connected"),
            &format!("{A}x 127.0.0.1:1 master - 0 0 9 connected"),
            &format!("{node} 16384"),
            &format!("{node} -1"),
            &format!("{node} [1->-{B}"),
            &format!("{node} [1]"),
            &format!("{node} [1->-x]"),
            &format!("{B} :1 slave x 0 0 9 connected"),
            &node,
        ] {
            let text = format!("{node} 0-9\n{line}\n");
            assert_eq!(view(&text), Err(NodesFileError { line: 2, text: line.to_owned() }), "{line}");
        }
        let nobody = view("vars currentEpoch 1 lastVoteEpoch 0\n");
        assert_eq!(nobody.map_err(|broken| broken.line), Err(0));
    }
}
