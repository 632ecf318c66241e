//! The state of a cluster's node: the known nodes, the owners of slots, and the routing of requests.
//!
//! All of it is state without I/O. [`ClusterView`] is one node's view, which administrators and other nodes change.
//! `nodes_conf` reads and writes the file of the view. `route` decides where the keys of a request are. [`Cluster`]
//! holds the whole state of a server. Each change of it may ask for effects, which the engine carries out. Texts are
//! those of redis-server 7.0.15.

mod control;
mod describe;
mod gossip;
mod node;
mod node_flags;
mod nodes_conf;
mod plan;
mod route;
mod router;
mod server_facts;
mod slot;
mod slot_keys;
mod slot_set;
mod state;
mod view;

pub(crate) use control::{
    ClusterChangeHandler, ClusterControl, ClusterHandler, ClusterOutcome, ClusterReport,
    ClusterReportHandler, ClusterRequest, DISABLED,
};
pub(crate) use describe::{Reader, ranges};
pub(crate) use gossip::{Facts, Gossip, GossipMessage, LinkInfo, MAX_NODES, Speaker, Tally, by_kind};
pub(crate) use node::{Node, NodeId, NodeNumber};
pub(crate) use node_flags::NodeFlags;
pub(crate) use nodes_conf::load;
pub use plan::{ClusterPlan, PlannedAddress};
pub use route::Redirect;
pub(crate) use router::RequestRouter;
pub(crate) use slot::{SLOTS, slot_of};
pub(crate) use slot_keys::SlotKeys;
pub(crate) use state::{Cluster, ClusterEffect};
pub(crate) use view::{BUS_PORT_DISTANCE, ClusterState, ClusterView};
