//! What a node of a cluster knows of it: the nodes, which slots are whose, and where a request belongs.
//!
//! All of it is a state and questions to it. [`ClusterView`] is one node's view, changed by what an administrator or
//! another node tells; `nodes_conf` is the file that it is kept in; `route` says where the keys of a request are.
//! [`Cluster`] has all of a server's: it is changed, and then asked for effects, which the engine carries out.
//! Texts are those of redis-server 7.0.15.

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
pub(crate) use gossip::{Facts, Gossip, LinkInfo, Message, NODES_MAX, Speaker, Tally, by_kind};
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
