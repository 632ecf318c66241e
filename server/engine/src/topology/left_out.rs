//! Servers that are left out of an exchange because they hang. Their connections stay open, bytes sent to them wait,
//! and missed events are delivered when they are back.

use super::missed::Missed;
use super::network::{Key, Network, Outside};
use super::nodes::Nodes;
use crate::clients::Slot;
use crate::faults::{Apart, NodeFault};
use crate::member::{Broadcast, TopologyRequest};
use crate::outbound::OutboundEvent;

impl Network {
    /// Delivers missed events to servers that are back, and records which servers are left out now. Their actions on
    /// connections are carried out before any bytes are delivered over these connections.
    pub(super) fn look_who_is_there(&mut self, nodes: &mut Nodes<'_, '_>, outside: &mut dyn Outside) {
        self.take_over_advance(nodes);
        let left_out = nodes.left_out();
        if left_out == self.left_out && self.missed.is_empty() {
            return;
        }
        self.left_out = left_out;
        let (back, still_missed) =
            std::mem::take(&mut self.missed).into_iter().partition(|(place, _)| nodes.has(*place));
        self.missed = still_missed;
        for (place, missed) in back {
            self.make_up_for(nodes, place, missed);
        }
        self.tell_addresses(nodes);
        self.tell_who_is_cut(nodes);
        self.drain_all(nodes, outside);
    }

    fn make_up_for(&mut self, nodes: &mut Nodes<'_, '_>, place: usize, missed: Missed) {
        match missed {
            Missed::Disconnected(slot) => nodes[place].disconnect(slot),
            Missed::Closed(id, reason) => nodes[place].outbound_event(id, OutboundEvent::Closed { reason }),
            Missed::Lost(replica, promotion) => self.note_lost_to(nodes, replica, &promotion),
            Missed::Replaced { master, address, spared } => {
                self.follow_successor(nodes, place, master, address, spared);
            }
            Missed::Reset => {
                if nodes[place].faults().outage.was_killed() && !self.has_left(place) {
                    nodes[place].restart(None, |planner| planner.come_back());
                }
                self.return_late(nodes, place);
            }
        }
    }

    /// Informs the server that accepted a connection of its end, now or when the server is back.
    pub(super) fn disconnect(&mut self, nodes: &mut Nodes<'_, '_>, place: usize, slot: Slot) {
        match nodes.get_mut(place) {
            Some(node) => node.disconnect(slot),
            None => self.missed.push((place, Missed::Disconnected(slot))),
        }
    }

    /// Informs the server that made a connection of its end, now or when the server is back.
    pub(super) fn close(&mut self, nodes: &mut Nodes<'_, '_>, (place, id): Key, reason: &'static str) {
        match nodes.get_mut(place) {
            Some(node) => node.outbound_event(id, OutboundEvent::Closed { reason }),
            None => self.missed.push((place, Missed::Closed(id, reason))),
        }
    }

    /// Takes the next request that can be served without the servers that are left out.
    pub(super) fn next_request(&mut self, nodes: &mut Nodes<'_, '_>) -> Option<(usize, TopologyRequest)> {
        let may_go = |(place, request): &(usize, TopologyRequest)| {
            nodes.has(*place) && !self.needs_more(nodes, request)
        };
        if let Some(at) = self.put_off.iter().position(may_go) {
            return Some(self.put_off.remove(at));
        }
        loop {
            let (place, request) = nodes
                .iter_mut()
                .find_map(|(place, node)| Some((place, node.member_mut().next_request()?)))?;
            if !self.needs_more(nodes, &request) {
                return Some((place, request));
            }
            if matches!(request, TopologyRequest::Broadcast(_, Broadcast::Fault(NodeFault::Heal))) {
                self.healed += self.heal_all(nodes);
            }
            self.put_off.push((place, request));
        }
    }

    /// Drops the broadcasts that clients of a server have requested, because their waits have ended.
    pub(super) fn forget_put_off(&mut self, place: usize) {
        let is_its = |(from, request): &(usize, TopologyRequest)| {
            *from == place && matches!(request, TopologyRequest::Broadcast(..))
        };
        self.put_off.retain(|put_off| !is_its(put_off));
    }

    /// Whether a request needs a server that is left out, and must wait until that server is back.
    fn needs_more(&self, nodes: &Nodes<'_, '_>, request: &TopologyRequest) -> bool {
        let is_missing = |place: &usize| !nodes.has(*place) && !self.has_left(*place);
        match request {
            TopologyRequest::Moved(to) => is_missing(to),
            TopologyRequest::Broadcast(_, Broadcast::Fault(fault)) => match fault {
                NodeFault::Down { node, .. }
                | NodeFault::Up { node }
                | NodeFault::FailOver { node: Some(node), .. } => is_missing(node),
                NodeFault::Part { nodes: places, from: Apart::Clients, .. } => places.iter().any(is_missing),
                NodeFault::Heal => nodes.left_out().iter().any(is_missing),
                NodeFault::Part { .. } | NodeFault::Lag { .. } | NodeFault::FailOver { node: None, .. } => {
                    false
                }
            },
            _ => false,
        }
    }
}
