//! How a node begins: with the view that its file has, or as a new one that knows nobody.

use super::super::cluster_state::Cluster;
use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::cluster::{
    Broken, ClusterPlan, ClusterView, Gossip, Node, NodeFlags, NodeId, PlannedAddress, SLOTS, SlotKeys,
    default_bus_port, read, write,
};
use crate::config::system_reason;
use std::io;

/// How many keys are looked at in one step.
const PIECE: usize = 1000;

impl Engine {
    /// Becomes a node of a cluster, if the configuration says so: after the keys of the start have been read.
    /// O(keys + slots).
    ///
    /// # Errors
    /// Why the file of the view is refused, in lines as Redis logs them, with the line that is wrong.
    pub fn begin_as_node(&mut self) -> Result<(), String> {
        if !self.config.cluster.enabled {
            return Ok(());
        }
        let view = match self.read_view()? {
            Some(view) => {
                tracing::info!("Node configuration loaded, I'm {}", view.me().id);
                view
            }
            None => {
                let me = self.new_node_id();
                tracing::info!("No cluster configuration found, I'm {me}");
                ClusterView::alone(Node { flags: NodeFlags::MASTER, ..Node::new(me) })
            }
        };
        let seed = self.keyspace.rng().next_u64();
        self.cluster = Some(Box::new(Cluster::new(view, seed)));
        self.hooks.set(Hook::Cluster, true);
        self.index_slots();
        self.take_slots_of_keys()?;
        self.announce_node();
        if let Some(cluster) = &mut self.cluster {
            cluster.start = cluster.view.clone();
        }
        self.cluster_changed();
        Ok(())
    }

    /// Knows from now on, and after [`Engine::reset`], the cluster that a plan says, of which this is the node at a
    /// place, from 0. Nothing is said to the others before [`Engine::contact_nodes`].
    pub fn join_cluster(&mut self, plan: &ClusterPlan, me: usize) {
        let seed = self.keyspace.rng().next_u64();
        if self.cluster.is_some() {
            self.cluster = Some(Box::new(Cluster::new(plan.view(me), seed)));
        }
    }

    /// Makes the acquaintance of the other nodes that it knows of, and follows its master.
    pub fn contact_nodes(&mut self) {
        self.announce_node();
        self.cluster_changed();
    }

    /// Tells the other nodes how this one is, also that its data are complete.
    pub fn tell_nodes(&mut self) {
        self.with_gossip(Gossip::tell_all);
    }

    fn read_view(&self) -> Result<Option<ClusterView>, String> {
        let file = &self.config.cluster.config_file;
        if file.is_empty() {
            return Ok(None);
        }
        self.claim_file(file).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => format!(
                "Sorry, the cluster configuration file {file} is already used by a different Redis Cluster node. \
                 Please make sure that different nodes use different cluster configuration files."
            ),
            _ => format!("Can't open {file} in order to acquire a lock: {}", system_reason(&error)),
        })?;
        let text = match self.read_file(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let why = system_reason(&error);
                return Err(format!("Loading the cluster node config from {file}: {why}"));
            }
        };
        read(&text, self.clock.now().wall_ms()).map_err(|Broken { line, text }| {
            let line =
                if line > 0 { format!(" Line {line} of {file}: {text}") } else { format!(" {file}: {text}") };
            format!("Unrecoverable error: corrupted cluster config file.{line}")
        })
    }

    /// A name for a node, chosen at random.
    pub(crate) fn new_node_id(&mut self) -> NodeId {
        NodeId::random(self.keyspace.rng())
    }

    /// Knows from now on which keys are in which slot. O(keys).
    fn index_slots(&mut self) {
        let mut keys = SlotKeys::new();
        let tx = self.keyspace.tx(0, self.clock.now());
        let mut cursor = 0;
        loop {
            cursor = tx.scan(cursor, PIECE, &mut |key, _| keys.add(key));
            if cursor == 0 {
                break;
            }
        }
        self.keyspace.subscribe(Box::new(keys));
    }

    /// A master that has keys of slots that are nobody's takes these slots; it imports those that are another's.
    fn take_slots_of_keys(&mut self) -> Result<(), String> {
        if (1..self.keyspace.databases()).any(|db| self.keyspace.sizes(db).0 > 0) {
            return Err(
                "You can't have keys in a DB different than DB 0 when in Cluster mode. Exiting.".to_owned()
            );
        }
        let filled: Vec<u16> = (0..SLOTS).filter(|slot| self.keys_in_slot(*slot) > 0).collect();
        let Some(cluster) = self.cluster.as_deref_mut().filter(|cluster| cluster.view.me().is_master())
        else {
            return Ok(());
        };
        let view = &mut cluster.view;
        let me = view.my_number();
        for slot in filled {
            match view.owner(slot) {
                None => {
                    tracing::info!("I have keys for unassigned slot {slot}. Taking responsibility for it.");
                    view.assign(slot, Some(me));
                }
                Some(owner) if owner != me && view.importing_from(slot).is_none() => {
                    tracing::info!(
                        "I have keys for slot {slot}, but the slot is assigned to another node. Setting it to \
                         importing state."
                    );
                    view.set_importing(slot, Some(owner));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Returns this node's address as its configuration announces it.
    pub fn announced_address(&self) -> PlannedAddress {
        let config = &self.config;
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

    /// Puts into the view what the configuration says of this node's address.
    pub(super) fn announce_node(&mut self) {
        let PlannedAddress { ip, ports, hostname } = self.announced_address();
        let Some(cluster) = &mut self.cluster else { return };
        cluster.view.announce(&ip, ports, &hostname);
        cluster.view.me_mut().flags.set(NodeFlags::NO_FAILOVER, self.config.cluster.replica_no_failover);
        cluster.view.rules = self.config.cluster_rules();
    }

    /// Writes the view into its file. It changes with every word about a node that may be down: were the disk waited
    /// for each time, a busy one would make this node late itself, and its neighbours tell that of it.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn save_cluster(&self) -> io::Result<()> {
        let Some(cluster) = self.cluster.as_ref().filter(|_| !self.config.cluster.config_file.is_empty())
        else {
            return Ok(());
        };
        self.note_file(&self.config.cluster.config_file, &write(&cluster.view))
    }

    /// The view is as at the start, and nobody has said anything of its requests.
    pub(in super::super) fn reset_cluster(&mut self) {
        if self.begin_view_anew().is_some() {
            self.index_slots();
            self.cluster_changed();
        }
    }

    /// The view is as at the start, since another node of the process has begun anew: what nodes with later views
    /// told that one would take its part from it. Data stay, but for keys of slots that are another's again.
    pub(crate) fn return_to_first_view(&mut self) {
        // Among them are messages of nodes that were not heard before.
        self.change_faults(|control, _| {
            control.faults.drop_held_of_servers(control.sessions, &mut control.step);
        });
        let Some(before) = self.begin_view_anew() else { return };
        if let Some(cluster) = &mut self.cluster {
            (cluster.asking, cluster.read_only) = (before.asking, before.read_only);
        }
        self.cluster_changed();
        let foreign = self.foreign_slots();
        self.lose_slots(&foreign);
        self.commit();
    }

    /// Forgets what was heard of other nodes, and what became of the view; what was known.
    fn begin_view_anew(&mut self) -> Option<Box<Cluster>> {
        self.with_gossip(Gossip::end);
        let cluster = self.cluster.take()?;
        cluster.tick.into_iter().for_each(|tick| self.clock.timers_mut().cancel(tick));
        let seed = self.keyspace.rng().next_u64();
        self.cluster = Some(Box::new(Cluster::new(cluster.start.clone(), seed)));
        Some(cluster)
    }

    /// The slots of which a master has keys though they are not its own.
    fn foreign_slots(&self) -> Vec<u16> {
        let Some(cluster) = self.cluster.as_deref().filter(|cluster| cluster.view.me().is_master()) else {
            return Vec::new();
        };
        let me = Some(cluster.view.my_number());
        (0..SLOTS).filter(|slot| cluster.view.owner(*slot) != me && self.keys_in_slot(*slot) > 0).collect()
    }
}
