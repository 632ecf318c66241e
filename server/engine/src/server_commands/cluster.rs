//! CLUSTER and what else concerns a cluster: this server is none of its nodes.

use crate::core::Handler;
use crate::spec::{Args, CommandError, Flags, Outcome, Row};
use lockwheel_resp::Reply;

const DISABLED: &str = "ERR This instance has cluster support disabled";

/// What a node says to everybody.
const READ: Flags = Flags::STALE;
/// What a node says about others.
const NODES: Flags = Flags::of(&[Flags::ADMIN, Flags::STALE]);
/// What changes the cluster.
const ADMIN: Flags = Flags::of(&[NODES, Flags::NO_ASYNC_LOADING]);
const RESET: Flags = Flags::of(&[NODES, Flags::NOSCRIPT]);
const SHARD: Flags = Flags::of(&[Flags::LOADING, Flags::STALE]);

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::container("cluster", -2, CLUSTER)
        .about("cluster", "3.0.0", "Depends on subcommand.")
        .summary("What a node of a cluster is asked and told. This server is none."),
    row("asking", 1, "3.0.0", "O(1)")
        .flags(&[Flags::FAST])
        .categories(&["connection"])
        .summary("Lets the next command use a slot that is on its way to this node."),
    row("readonly", 1, "3.0.0", "O(1)")
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["connection"])
        .summary("Lets this connection read from a node that is a replica."),
    row("readwrite", 1, "3.0.0", "O(1)")
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["connection"])
        .summary("Ends what READONLY has allowed."),
];

const CLUSTER: &[Row<Handler>] = &[
    row("addslots", -3, "3.0.0", "O(N) where N is the total number of hash slot arguments")
        .flags(&[ADMIN])
        .summary("Gives this node slots.")
        .syntax("slot [slot ...]"),
    row(
        "addslotsrange",
        -4,
        "7.0.0",
        "O(N) where N is the total number of the slots between the start slot and end slot arguments.",
    )
    .flags(&[ADMIN])
    .summary("Gives this node ranges of slots.")
    .syntax("start-slot end-slot [start-slot end-slot ...]"),
    row("bumpepoch", 2, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .summary("Advances the epoch of the configuration.")
        .tips(&["nondeterministic_output"]),
    row("count-failure-reports", 3, "3.0.0", "O(N) where N is the number of failure reports")
        .flags(&[NODES])
        .summary("How many nodes report another as failing.")
        .syntax("node-id")
        .tips(&["nondeterministic_output"]),
    row("countkeysinslot", 3, "3.0.0", "O(1)")
        .flags(&[READ])
        .summary("How many keys a slot has here.")
        .syntax("slot"),
    row("delslots", -3, "3.0.0", "O(N) where N is the total number of hash slot arguments")
        .flags(&[ADMIN])
        .summary("Takes slots off this node.")
        .syntax("slot [slot ...]"),
    row(
        "delslotsrange",
        -4,
        "7.0.0",
        "O(N) where N is the total number of the slots between the start slot and end slot arguments.",
    )
    .flags(&[ADMIN])
    .summary("Takes ranges of slots off this node.")
    .syntax("start-slot end-slot [start-slot end-slot ...]"),
    row("failover", -2, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .summary("Makes a replica take over from its master.")
        .syntax("[options: FORCE | TAKEOVER]"),
    row("flushslots", 2, "3.0.0", "O(1)").flags(&[ADMIN]).summary("Takes all slots off this node."),
    row("forget", 3, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .summary("Removes a node from the nodes that are known.")
        .syntax("node-id"),
    row("getkeysinslot", 4, "3.0.0", "O(log(N)) where N is the number of requested keys")
        .flags(&[READ])
        .summary("Names of keys that a slot has here.")
        .syntax("slot count")
        .tips(&["nondeterministic_output"]),
    row("info", 2, "3.0.0", "O(1)")
        .flags(&[READ])
        .summary("The state of the cluster as this node sees it.")
        .tips(&["nondeterministic_output"]),
    row("keyslot", 3, "3.0.0", "O(N) where N is the number of bytes in the key")
        .flags(&[READ])
        .summary("The slot of a key.")
        .syntax("key:string"),
    row("links", 2, "7.0.0", "O(N) where N is the total number of Cluster nodes")
        .flags(&[READ])
        .summary("The connections to other nodes.")
        .tips(&["nondeterministic_output"]),
    row("meet", -4, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .summary("Makes another node's acquaintance.")
        .history(&[("4.0.0", "Added the optional `cluster_bus_port` argument.")])
        .syntax("ip port [cluster-bus-port=cluster_bus_port@4.0.0]"),
    row("myid", 2, "3.0.0", "O(1)").flags(&[READ]).summary("The name of this node."),
    row("myshardid", 2, "7.2.0", "O(1)")
        .flags(&[SHARD])
        .summary("The name of the shard that this node belongs to.")
        .tips(&["nondeterministic_output"]),
    row("nodes", 2, "3.0.0", "O(N) where N is the total number of Cluster nodes")
        .flags(&[READ])
        .summary("The nodes that are known, as they are written to the configuration.")
        .tips(&["nondeterministic_output"]),
    row("replicas", 3, "5.0.0", "O(1)")
        .flags(&[NODES])
        .summary("The replicas of a node.")
        .syntax("node-id")
        .tips(&["nondeterministic_output"]),
    row("replicate", 3, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .summary("Makes this node a replica of another.")
        .syntax("node-id"),
    row(
        "reset",
        -2,
        "3.0.0",
        "O(N) where N is the number of known nodes. The command may execute a FLUSHALL as a side effect.",
    )
    .flags(&[RESET])
    .summary("Makes this node forget the cluster.")
    .syntax("[HARD | SOFT]"),
    row("saveconfig", 2, "3.0.0", "O(1)").flags(&[ADMIN]).summary("Writes the node's configuration to disk."),
    row("set-config-epoch", 3, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .summary("Sets the epoch of a new node.")
        .syntax("config-epoch"),
    row("setslot", -4, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .summary("Says which node a slot belongs to, or is on its way to.")
        .syntax("slot (subcommand: IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE)"),
    row("shards", 2, "7.0.0", "O(N) where N is the total number of cluster nodes")
        .flags(&[READ])
        .summary("Which nodes have which slots.")
        .tips(&["nondeterministic_output"]),
    row("slaves", 3, "3.0.0", "O(1)")
        .flags(&[NODES])
        .summary("The replicas of a node.")
        .deprecated("5.0.0", "`CLUSTER REPLICAS`")
        .syntax("node-id")
        .tips(&["nondeterministic_output"]),
    row("slots", 2, "3.0.0", "O(N) where N is the total number of Cluster nodes")
        .flags(&[READ])
        .summary("Which nodes have which slots.")
        .history(&[("4.0.0", "Added node IDs."), ("7.0.0", "Added additional networking metadata field.")])
        .deprecated("7.0.0", "`CLUSTER SHARDS`")
        .tips(&["nondeterministic_output"]),
    row("help", 2, "5.0.0", "O(1)")
        .flags(&[Flags::LOADING, Flags::STALE])
        .summary("The subcommands of CLUSTER."),
];

/// A command that only a node of a cluster can do.
const fn row(name: &'static str, arity: i32, since: &'static str, complexity: &'static str) -> Row<Handler> {
    Row::new(name, arity, Handler::Stateless(disabled))
        .about("cluster", since, complexity)
        .errors(&[DISABLED])
}

fn disabled(_: Args<'_>, _: &mut dyn Reply) -> Outcome {
    Err(CommandError::text(DISABLED))
}
