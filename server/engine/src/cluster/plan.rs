//! Clusters that exist from the start of their nodes: the roles of the nodes, and the owners of slots.

use super::node::{Node, NodeId};
use super::node_flags::NodeFlags;
use super::slot::SLOTS;
use super::view::{ClusterView, default_bus_port};
use crate::config::Config;
use lockwheel_store::keyspace::Rng;
use std::net::IpAddr;

/// The address that a node of a plan announces.
#[derive(Clone, Debug, Default)]
pub struct PlannedAddress {
    /// The address; empty for that of the machine.
    pub(crate) ip: String,
    /// The ports for clients, for clients over TLS and for nodes.
    pub(crate) ports: [u16; 3],
    /// The host name, if the node announces one.
    pub(crate) hostname: String,
}

impl PlannedAddress {
    /// Returns the address that the parameters of a server announce.
    pub fn announced_by(config: &Config) -> Self {
        let parameters = &config.cluster;
        let first_set = |ports: &[u16]| ports.iter().copied().find(|port| *port != 0).unwrap_or(0);
        let base = first_set(&[config.port, config.tls.port.unwrap_or(0)]);
        let port = if config.port == 0 { 0 } else { first_set(&[parameters.announce_port, config.port]) };
        let tls_port = config.tls.port.map_or(0, |port| first_set(&[parameters.announce_tls_port, port]));
        let bus_port = first_set(&[parameters.announce_bus_port, parameters.port, default_bus_port(base)]);
        PlannedAddress {
            ip: parameters.announce_ip.clone(),
            ports: [port, tls_port, bus_port],
            hostname: parameters.announce_hostname.clone(),
        }
    }
}

/// The nodes of a cluster on one machine: masters first, then the first replica of each master, then the second.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    masters: usize,
    nodes: Vec<(NodeId, PlannedAddress)>,
    ip: String,
}

impl ClusterPlan {
    /// Returns a plan with a node for each port. The first `masters` (at least one) are masters. `seed` sets the names.
    pub fn new(masters: usize, ports: &[u16], seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let address =
            |port| PlannedAddress { ports: [port, 0, default_bus_port(port)], ..PlannedAddress::default() };
        let nodes = ports.iter().map(|port| (NodeId::random(&mut rng), address(*port))).collect();
        ClusterPlan { masters: masters.max(1), nodes, ip: "127.0.0.1".to_owned() }
    }

    /// Returns the plan with all nodes at this address of the machine.
    #[must_use]
    pub fn at(self, ip: IpAddr) -> Self {
        ClusterPlan { ip: ip.to_string(), ..self }
    }

    /// Returns the plan with the address that each node announces.
    #[must_use]
    pub fn announcing(mut self, addresses: impl IntoIterator<Item = PlannedAddress>) -> Self {
        self.nodes.iter_mut().zip(addresses).for_each(|((_, planned), address)| *planned = address);
        self
    }

    /// Returns the first and the last slot of a master, divided as redis-cli does.
    fn slots(&self, master: usize) -> (u16, u16) {
        let end = |master: usize| {
            let share = f64::from(SLOTS) / self.masters as f64;
            // redis-cli rounds the last slot of each master.
            (share * master as f64 - 1.0).round() as i64
        };
        let last = if master + 1 == self.masters { i64::from(SLOTS) - 1 } else { end(master + 1) };
        let first = if master == 0 { 0 } else { end(master) + 1 };
        (first as u16, last as u16)
    }

    /// Returns the view of the node with this index.
    pub(crate) fn view(&self, me: usize) -> ClusterView {
        let mut view = ClusterView::alone(self.node(0));
        let mut numbers = vec![view.my_number()];
        (1..self.nodes.len()).for_each(|at| numbers.push(view.add_node(self.node(at))));
        for (at, number) in numbers.iter().enumerate().skip(self.masters) {
            if let Some(node) = view.node_mut(*number) {
                node.master = Some(numbers[at % self.masters]);
            }
        }
        for (master, number) in numbers.iter().enumerate().take(self.masters) {
            let (first, last) = self.slots(master);
            (first..=last).for_each(|slot| view.assign(slot, Some(*number)));
        }
        view.me_mut().flags.remove(NodeFlags::MYSELF);
        view.become_node(numbers[me]);
        view.me_mut().flags |= NodeFlags::MYSELF;
        view.current_epoch = self.masters as u64;
        view.refresh();
        view
    }

    fn node(&self, at: usize) -> Node {
        let (id, PlannedAddress { ip, ports: [port, tls_port, bus_port], hostname }) = self.nodes[at].clone();
        let is_master = at < self.masters;
        Node {
            ip: if ip.is_empty() { self.ip.clone() } else { ip },
            port,
            tls_port,
            bus_port,
            hostname,
            flags: if is_master { NodeFlags::MASTER } else { NodeFlags::REPLICA },
            config_epoch: if is_master { at as u64 + 1 } else { 0 },
            ..Node::new(id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::ClusterState;
    use super::*;

    #[test]
    fn a_server_announces_its_own_ports_unless_others_are_configured() {
        let mut config = Config::default();
        config.port = 7000;
        let ports = |config: &Config| PlannedAddress::announced_by(config).ports;
        assert_eq!(ports(&config), [7000, 0, 17000]);
        config.cluster.announce_port = 1;
        config.tls.port = Some(7001);
        assert_eq!(ports(&config), [1, 7001, 17000]);
        (config.port, config.cluster.port) = (0, 9);
        assert_eq!(ports(&config), [0, 7001, 9]);
        (config.cluster.announce_tls_port, config.cluster.announce_bus_port) = (2, 3);
        assert_eq!(ports(&config), [0, 2, 3]);
    }

    #[test]
    fn slots_are_divided_as_by_redis_cli() {
        for (masters, expected) in [
            (1, vec![(0, 16383)]),
            (3, vec![(0, 5460), (5461, 10922), (10923, 16383)]),
            (5, vec![(0, 3276), (3277, 6553), (6554, 9829), (9830, 13106), (13107, 16383)]),
        ] {
            let plan = ClusterPlan::new(masters, &[1; 5], 7);
            let slots: Vec<_> = (0..masters).map(|master| plan.slots(master)).collect();
            assert_eq!(slots, expected);
        }
    }

    #[test]
    fn each_node_knows_all_nodes_from_the_start() {
        let plan = ClusterPlan::new(3, &[1, 2, 3, 4, 5, 6], 7);
        for me in 0..6 {
            let view = plan.view(me);
            assert_eq!((view.state(), view.me().port), (ClusterState::Ok, me as u16 + 1));
            let replica = view.node(view.nodes().nth(4).unwrap().0).unwrap();
            assert_eq!(view.node(replica.master.unwrap()).unwrap().port, 2);
            assert_eq!(view.nodes().filter(|(_, node)| node.flags.contains(NodeFlags::MYSELF)).count(), 1);
        }
    }
}
