//! The routing of a request: to this node, to another one, or to none.

use super::node::NodeNumber;
use super::slot::slot_of;
use super::view::{ClusterState, ClusterView};

/// The reason that this node does not run a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect(Why);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The keys are in different slots.
    CrossSlot,
    /// The slot is being moved; some keys are on this node, and some are on the other.
    TryAgain,
    /// The cluster is down.
    Down,
    /// The cluster is down for all commands except reads.
    DownForWrites,
    /// The slot has no owner.
    Unserved,
    /// The slot belongs to another node.
    Moved { slot: u16, to: NodeNumber },
    /// The slot is being moved; the keys are, or will be, on the other node.
    Ask { slot: u16, to: NodeNumber },
}

/// The modes that a client has set for its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asker {
    /// Whether the client has sent ASKING.
    pub(crate) asking: bool,
    /// Whether the client is in READONLY mode.
    pub(crate) read_only: bool,
}

/// The properties of a request that decide its routing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asks<'a> {
    /// The keys, or the shard channels, of the request. A transaction has those of all its commands.
    pub(crate) keys: &'a [&'a [u8]],
    /// Whether `keys` holds shard channels.
    pub(crate) of_channels: bool,
    /// Whether the command may write.
    pub(crate) writes: bool,
    /// Whether the transaction that the command runs may write.
    pub(crate) runs_writes: bool,
    /// Whether the command moves keys between nodes.
    pub(crate) migrates: bool,
    pub(crate) asker: Asker,
}

/// The facts found so far about the slot of a request.
#[derive(Default)]
struct Found {
    slot: Option<u16>,
    owner: Option<NodeNumber>,
    migrating: bool,
    importing: bool,
    several: bool,
    missing: usize,
    existing: usize,
}

/// Returns the slot of a request's keys, if any; a `Redirect` if not here. `exists`: this node has the key. O(keys).
pub(crate) fn route(
    view: &ClusterView,
    asks: Asks<'_>,
    exists: impl Fn(&[u8]) -> bool,
) -> Result<Option<u16>, Redirect> {
    let found = look_at_keys(view, asks, exists).map_err(Redirect)?;
    let (Some(slot), Some(owner)) = (found.slot, found.owner) else { return Ok(None) };
    if view.state() != ClusterState::Ok {
        check_down(view, asks).map_err(Redirect)?;
    }
    if (found.migrating || found.importing) && asks.migrates {
        return Ok(Some(slot));
    }
    if let Some(to) = view.migrating_to(slot).filter(|_| found.migrating && found.missing > 0) {
        return Err(Redirect(if found.existing > 0 { Why::TryAgain } else { Why::Ask { slot, to } }));
    }
    if found.importing && asks.asker.asking {
        let incomplete = found.several && found.missing > 0;
        return if incomplete { Err(Redirect(Why::TryAgain)) } else { Ok(Some(slot)) };
    }
    let may_read = (asks.asker.read_only || asks.of_channels) && !asks.writes && !asks.runs_writes;
    let me = view.me();
    let is_copy = me.is_replica() && me.master == Some(owner);
    if owner == view.my_number() || (may_read && is_copy) {
        return Ok(Some(slot));
    }
    Err(Redirect(Why::Moved { slot, to: owner }))
}

fn look_at_keys(view: &ClusterView, asks: Asks<'_>, exists: impl Fn(&[u8]) -> bool) -> Result<Found, Why> {
    let mut found = Found::default();
    for key in asks.keys {
        let slot = slot_of(key);
        match found.slot {
            None => {
                let owner = view.owner(slot).ok_or(Why::Unserved)?;
                (found.slot, found.owner) = (Some(slot), Some(owner));
                found.migrating = owner == view.my_number() && view.migrating_to(slot).is_some();
                found.importing = !found.migrating && view.importing_from(slot).is_some();
            }
            Some(first) if first != slot => return Err(Why::CrossSlot),
            Some(_) => found.several |= found.importing && *key != asks.keys[0],
        }
        if (found.migrating || found.importing) && !asks.of_channels {
            *if exists(key) { &mut found.existing } else { &mut found.missing } += 1;
        }
    }
    Ok(found)
}

/// Checks whether a request is served although the cluster is down.
fn check_down(view: &ClusterView, asks: Asks<'_>) -> Result<(), Why> {
    match asks {
        Asks { of_channels: true, .. } if view.rules.channels_when_down => Ok(()),
        Asks { of_channels: true, .. } => Err(Why::Down),
        _ if !view.rules.reads_when_down => Err(Why::Down),
        Asks { writes: true, .. } => Err(Why::DownForWrites),
        _ => Ok(()),
    }
}

/// Checks whether a client may continue to wait for a key. If the slot has moved, returns the redirect to its new
/// owner. `read_only`: the client only reads and is in READONLY mode.
pub(crate) fn route_waiting(view: &ClusterView, key: &[u8], read_only: bool) -> Result<(), Redirect> {
    if view.state() != ClusterState::Ok {
        return Err(Redirect(Why::Down));
    }
    let slot = slot_of(key);
    let owner = view.owner(slot);
    let me = view.me();
    let is_copy = read_only && me.is_replica() && owner.is_some() && me.master == owner;
    if owner == Some(view.my_number()) || is_copy || view.importing_from(slot).is_some() {
        return Ok(());
    }
    Err(Redirect(owner.map_or(Why::Unserved, |to| Why::Moved { slot, to })))
}

impl Redirect {
    /// Returns the error text for the client. `endpoint` returns the address of a node for this client.
    pub(crate) fn text(self, endpoint: impl Fn(NodeNumber) -> String) -> String {
        match self.0 {
            Why::CrossSlot => "CROSSSLOT Keys in request don't hash to the same slot".to_owned(),
            Why::TryAgain => "TRYAGAIN Multiple keys request during rehashing of slot".to_owned(),
            Why::Down => "CLUSTERDOWN The cluster is down".to_owned(),
            Why::DownForWrites => "CLUSTERDOWN The cluster is down and only accepts read commands".to_owned(),
            Why::Unserved => "CLUSTERDOWN Hash slot not served".to_owned(),
            Why::Moved { slot, to } => format!("MOVED {slot} {}", endpoint(to)),
            Why::Ask { slot, to } => format!("ASK {slot} {}", endpoint(to)),
        }
    }

    /// Returns the error text for a script that has named such keys.
    pub(crate) fn text_for_script(self) -> &'static str {
        match self.0 {
            Why::Down => "ERR Script attempted to execute a command while the cluster is down",
            Why::DownForWrites => {
                "ERR Script attempted to execute a write command while the cluster is down and readonly"
            }
            _ => "ERR Script attempted to access a non local key in a cluster node",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::{Node, NodeId};
    use super::super::node_flags::NodeFlags;
    use super::super::slot::SLOTS;
    use super::*;

    /// Returns the view of a master with the lower half of the slots, and another master with the rest.
    fn two() -> (ClusterView, NodeNumber) {
        let node = |letter: char, port| {
            let id = NodeId::parse(letter.to_string().repeat(NodeId::LEN).as_bytes()).unwrap();
            Node { ip: "h".to_owned(), port, flags: NodeFlags::MASTER, ..Node::new(id) }
        };
        let mut view = ClusterView::alone(node('a', 1));
        let other = view.add_node(node('b', 2));
        let me = view.my_number();
        (0..SLOTS).for_each(|slot| view.assign(slot, Some(if slot < SLOTS / 2 { me } else { other })));
        view.refresh();
        (view, other)
    }

    fn answer(view: &ClusterView, asks: Asks<'_>, here: &[&[u8]]) -> String {
        match route(view, asks, |key| here.contains(&key)) {
            Ok(slot) => format!("{slot:?}"),
            Err(redirect) => {
                redirect.text(|to| format!("{}:{}", view.node(to).unwrap().ip, view.node(to).unwrap().port))
            }
        }
    }

    const HERE: &[u8] = b"{bar}1";
    const MATE: &[u8] = b"{bar}2";
    const THERE: &[u8] = b"foo";

    #[test]
    fn keys_belong_to_the_node_of_their_slot() {
        let (view, _) = two();
        let asks = |keys| Asks { keys, ..Asks::default() };
        assert_eq!(answer(&view, asks(&[]), &[]), "None");
        assert_eq!(answer(&view, asks(&[HERE, MATE]), &[]), "Some(5061)");
        assert_eq!(answer(&view, asks(&[THERE]), &[]), "MOVED 12182 h:2");
        let cross = "CROSSSLOT Keys in request don't hash to the same slot";
        assert_eq!(answer(&view, asks(&[HERE, THERE]), &[]), cross);
    }

    #[test]
    fn missing_keys_of_a_migrating_slot_get_ask() {
        let (mut view, other) = two();
        view.set_migrating(5061, Some(other));
        let asks = Asks { keys: &[HERE, MATE], ..Asks::default() };
        assert_eq!(answer(&view, asks, &[HERE, MATE]), "Some(5061)");
        let again = "TRYAGAIN Multiple keys request during rehashing of slot";
        assert_eq!(answer(&view, asks, &[MATE]), again);
        assert_eq!(answer(&view, asks, &[]), "ASK 5061 h:2");
        assert_eq!(answer(&view, Asks { migrates: true, ..asks }, &[]), "Some(5061)");
        assert_eq!(answer(&view, Asks { of_channels: true, ..asks }, &[]), "Some(5061)");
    }

    #[test]
    fn an_importing_slot_serves_clients_that_sent_asking() {
        let (mut view, other) = two();
        view.set_importing(12182, Some(other));
        let asks = Asks { keys: &[THERE], ..Asks::default() };
        assert_eq!(answer(&view, asks, &[]), "MOVED 12182 h:2");
        let asking = Asker { asking: true, read_only: false };
        let asks = Asks { asker: asking, ..asks };
        assert_eq!(answer(&view, asks, &[]), "Some(12182)");
        let asks = Asks { keys: &[THERE, b"{foo}"], ..asks };
        let again = "TRYAGAIN Multiple keys request during rehashing of slot";
        assert_eq!(answer(&view, asks, &[THERE]), again);
        assert_eq!(answer(&view, asks, &[THERE, b"{foo}"]), "Some(12182)");
    }

    #[test]
    fn a_down_cluster_serves_what_its_configuration_allows() {
        let (mut view, other) = two();
        view.take_slots_of(other);
        view.refresh();
        let read = Asks { keys: &[HERE], ..Asks::default() };
        let write = Asks { writes: true, ..read };
        let channel = Asks { of_channels: true, ..read };
        let down = "CLUSTERDOWN The cluster is down";
        assert_eq!([read, write, channel].map(|asks| answer(&view, asks, &[])), [down; 3]);
        (view.rules.reads_when_down, view.rules.channels_when_down) = (true, true);
        let read_only = "CLUSTERDOWN The cluster is down and only accepts read commands";
        assert_eq!(
            [read, write, channel].map(|asks| answer(&view, asks, &[])),
            ["Some(5061)", read_only, "Some(5061)"]
        );
        let unserved = Asks { keys: &[THERE], ..Asks::default() };
        assert_eq!(answer(&view, unserved, &[]), "CLUSTERDOWN Hash slot not served");
    }

    #[test]
    fn a_replica_serves_only_reads_and_only_after_readonly() {
        let (mut view, other) = two();
        let me = view.my_number();
        view.take_slots_of(me);
        (0..SLOTS).for_each(|slot| view.assign(slot, Some(other)));
        view.replicate(other);
        view.refresh();
        let read = Asks { keys: &[THERE], ..Asks::default() };
        assert_eq!(answer(&view, read, &[]), "MOVED 12182 h:2");
        let read = Asks { asker: Asker { asking: false, read_only: true }, ..read };
        assert_eq!(answer(&view, read, &[]), "Some(12182)");
        assert_eq!(answer(&view, Asks { writes: true, ..read }, &[]), "MOVED 12182 h:2");
        assert_eq!(answer(&view, Asks { runs_writes: true, ..read }, &[]), "MOVED 12182 h:2");
    }
}
