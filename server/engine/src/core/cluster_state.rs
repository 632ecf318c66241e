//! What an engine knows of its cluster.

use crate::clock::TimerKey;
use crate::cluster::{Asker, ClusterView, Gossip, NodeNumber, Rules};
use crate::config::{Config, EndpointType};
use crate::outbound::OutboundId;
use std::collections::{BTreeMap, BTreeSet};

/// What an engine that is a node of a cluster knows of it.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// What it knows of the nodes.
    pub(crate) view: ClusterView,
    /// What it began with.
    pub(super) start: ClusterView,
    /// What it tells other nodes, and they it.
    pub(crate) gossip: Gossip,
    /// The connections to other nodes, by the names that it has for them.
    pub(super) links: BTreeMap<u64, OutboundId>,
    /// When it looks at other nodes.
    pub(super) tick: Option<TimerKey>,
    /// The clients that have said ASKING for their next request.
    pub(super) asking: BTreeSet<u64>,
    /// The clients that have said READONLY.
    pub(super) read_only: BTreeSet<u64>,
}

impl Cluster {
    /// A node that begins with this view. `seed` decides its random choices.
    pub(super) fn new(view: ClusterView, seed: u64) -> Self {
        Cluster {
            start: view.clone(),
            view,
            gossip: Gossip::new(seed),
            links: BTreeMap::new(),
            tick: None,
            asking: BTreeSet::new(),
            read_only: BTreeSet::new(),
        }
    }

    /// What a client has said of its requests.
    pub(crate) fn asker(&self, session: u64) -> Asker {
        let (asking, read_only) = (self.asking.contains(&session), self.read_only.contains(&session));
        Asker { asking, read_only }
    }

    /// A client says ASKING, or its next request is over.
    pub(crate) fn set_asking(&mut self, session: u64, asking: bool) {
        set(&mut self.asking, session, asking);
    }

    /// A client says READONLY or READWRITE.
    pub(crate) fn set_read_only(&mut self, session: u64, read_only: bool) {
        set(&mut self.read_only, session, read_only);
    }

    /// The address of a node, as clients are to use it.
    pub(super) fn endpoint(&self, config: &Config, number: NodeNumber) -> String {
        let Some(node) = self.view.node(number) else { return String::new() };
        let name = match config.cluster.preferred_endpoint_type {
            EndpointType::Ip => &node.ip,
            EndpointType::Hostname if node.hostname.is_empty() => "?",
            EndpointType::Hostname => &node.hostname,
            EndpointType::UnknownEndpoint => "",
        };
        format!("{name}:{}", node.client_port(config.is_tls_only()))
    }
}

fn set(of: &mut BTreeSet<u64>, session: u64, is_in: bool) {
    if is_in {
        of.insert(session);
    } else {
        of.remove(&session);
    }
}

impl Config {
    /// Whether clients come over TLS alone.
    pub(crate) fn is_tls_only(&self) -> bool {
        self.port == 0 && self.tls.port.is_some()
    }

    /// What may be missing of a cluster that serves requests.
    pub(super) fn cluster_rules(&self) -> Rules {
        Rules {
            full_coverage: self.cluster.require_full_coverage,
            reads_when_down: self.cluster.allow_reads_when_down,
            channels_when_down: self.cluster.allow_pubsubshard_when_down,
        }
    }
}
