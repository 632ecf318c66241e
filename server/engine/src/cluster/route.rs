//! Where a request belongs: to this node, or to another one, or nowhere.

use super::node::NodeNumber;
use super::slot::slot_of;
use super::view::{ClusterState, ClusterView};

/// Why a request is not run by this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect(Why);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Its keys are in different slots.
    CrossSlot,
    /// Some of its keys are here, and some are at the other end of a move.
    TryAgain,
    /// The cluster is down.
    Down,
    /// It is down for all but reads.
    DownForWrites,
    /// The slot is nobody's.
    Unserved,
    /// The slot is another node's.
    Moved { slot: u16, to: NodeNumber },
    /// The keys are, or will be, at the other end of a move.
    Ask { slot: u16, to: NodeNumber },
}

/// What a client has said of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asker {
    /// ASKING.
    pub(crate) asking: bool,
    /// READONLY.
    pub(crate) read_only: bool,
}

/// A request, as far as it decides where it belongs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asks<'a> {
    /// Its keys, or its channels of shards; those of all commands of a transaction.
    pub(crate) keys: &'a [&'a [u8]],
    /// Whether these are channels.
    pub(crate) of_channels: bool,
    /// Whether the command may write.
    pub(crate) writes: bool,
    /// Whether a transaction that it runs may.
    pub(crate) runs_writes: bool,
    /// Whether it moves keys from node to node.
    pub(crate) migrates: bool,
    /// What its client has said.
    pub(crate) asker: Asker,
}

/// What is known of the slot of a request while its keys are looked at.
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

/// Whether this node runs a request, and the slot of its keys, if it has any. `exists` tells whether a key is here.
/// O(keys).
///
/// # Errors
/// Why it does not.
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

/// Whether a request is served although the cluster is down.
fn check_down(view: &ClusterView, asks: Asks<'_>) -> Result<(), Why> {
    match asks {
        Asks { of_channels: true, .. } if view.rules.channels_when_down => Ok(()),
        Asks { of_channels: true, .. } => Err(Why::Down),
        _ if !view.rules.reads_when_down => Err(Why::Down),
        Asks { writes: true, .. } => Err(Why::DownForWrites),
        _ => Ok(()),
    }
}

/// Where a client that waits for a key has to go when its slot is not this node's any more. `read_only`: it only reads,
/// and has said READONLY.
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
    /// What the client is answered. `endpoint` gives the address of a node as the client is to use it.
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

    /// What a script is answered that has named such keys.
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

    /// A master with the lower half of the slots beside another one with the rest.
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
    fn a_slot_that_leaves_is_asked_for_at_its_new_place_where_keys_are_gone() {
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
    fn a_slot_that_arrives_serves_those_who_ask() {
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
    fn a_cluster_that_is_down_serves_what_it_may() {
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
    fn a_replica_serves_reads_to_those_who_want_them() {
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
