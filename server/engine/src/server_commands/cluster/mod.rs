//! CLUSTER and the other commands of a cluster node.

mod client_flags;
mod gossip;
mod nodes;
mod slots;
mod topology;

use crate::cluster::{ClusterChangeHandler, ClusterHandler, ClusterReportHandler};
use crate::core::{Handler, PartHandler};
use crate::spec::{Flags, Row};

const DISABLED: &str = "ERR This instance has cluster support disabled";

/// The flags of commands that any client may use to read the state of the cluster.
const READ: Flags = Flags::STALE;
const NODES: Flags = Flags::of(&[Flags::ADMIN, Flags::STALE]);
const ADMIN: Flags = Flags::of(&[NODES, Flags::NO_ASYNC_LOADING]);
const RESET: Flags = Flags::of(&[NODES, Flags::NOSCRIPT]);
const GOSSIP: Flags = Flags::of(&[
    Flags::ADMIN,
    Flags::NOSCRIPT,
    Flags::LOADING,
    Flags::STALE,
    Flags::SKIP_MONITOR,
    Flags::SKIP_SLOWLOG,
]);
const SHARD: Flags = Flags::of(&[Flags::LOADING, Flags::STALE]);

pub(super) const ROWS: &[Row<Handler>] = &[
    Row::container("cluster", -2, CLUSTER)
        .about("cluster", "3.0.0", "Depends on subcommand.")
        .summary("What a node of a cluster is asked and told."),
    change("asking", 1, client_flags::asking, "3.0.0", "O(1)")
        .flags(&[Flags::FAST])
        .categories(&["connection"])
        .summary("Lets the next command use a slot that this node is importing."),
    change("readonly", 1, client_flags::read_only, "3.0.0", "O(1)")
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["connection"])
        .summary("Lets this connection read from a node that is a replica."),
    change("readwrite", 1, client_flags::read_write, "3.0.0", "O(1)")
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["connection"])
        .summary("Ends the effect of READONLY."),
];

const CLUSTER: &[Row<Handler>] = &[
    change("addslots", -3, slots::add, "3.0.0", "O(N) where N is the total number of hash slot arguments")
        .flags(&[ADMIN])
        .help(&["ADDSLOTS <slot> [<slot> ...]", "    Assign slots to current node."])
        .summary("Assigns slots to this node.")
        .syntax("slot [slot ...]"),
    change(
        "addslotsrange",
        -4,
        slots::add_ranges,
        "7.0.0",
        "O(N) where N is the total number of the slots between the start slot and end slot arguments.",
    )
    .flags(&[ADMIN])
    .help(&[
        "ADDSLOTSRANGE <start slot> <end slot> [<start slot> <end slot> ...]",
        "    Assign slots which are between <start-slot> and <end-slot> to current node.",
    ])
    .summary("Assigns ranges of slots to this node.")
    .syntax("start-slot end-slot [start-slot end-slot ...]"),
    change("bumpepoch", 2, nodes::bump_epoch, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&["BUMPEPOCH", "    Advance the cluster config epoch."])
        .summary("Advances the epoch of the configuration.")
        .tips(&["nondeterministic_output"]),
    report(
        "count-failure-reports",
        3,
        nodes::count_failure_reports,
        "3.0.0",
        "O(N) where N is the number of failure reports",
    )
    .flags(&[NODES])
    .help(&["COUNT-FAILURE-REPORTS <node-id>", "    Return number of failure reports for <node-id>."])
    .summary("How many nodes report another as failing.")
    .syntax("node-id")
    .tips(&["nondeterministic_output"]),
    report("countkeysinslot", 3, slots::count_keys, "3.0.0", "O(1)")
        .flags(&[READ])
        .help(&["COUNTKEYSINSLOT <slot>", "    Return the number of keys in <slot>."])
        .summary("Counts the keys of a slot on this node.")
        .syntax("slot"),
    change("delslots", -3, slots::delete, "3.0.0", "O(N) where N is the total number of hash slot arguments")
        .flags(&[ADMIN])
        .help(&["DELSLOTS <slot> [<slot> ...]", "    Delete slots information from current node."])
        .summary("Removes slots from this node.")
        .syntax("slot [slot ...]"),
    change(
        "delslotsrange",
        -4,
        slots::delete_ranges,
        "7.0.0",
        "O(N) where N is the total number of the slots between the start slot and end slot arguments.",
    )
    .flags(&[ADMIN])
    .help(&[
        "DELSLOTSRANGE <start slot> <end slot> [<start slot> <end slot> ...]",
        "    Delete slots information which are between <start-slot> and <end-slot> from current node.",
    ])
    .summary("Removes ranges of slots from this node.")
    .syntax("start-slot end-slot [start-slot end-slot ...]"),
    change("failover", -2, nodes::failover, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&["FAILOVER [FORCE|TAKEOVER]", "    Promote current replica node to being a master."])
        .summary("Makes a replica take over from its master.")
        .syntax("[options: FORCE | TAKEOVER]"),
    change("flushslots", 2, slots::flush, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&["FLUSHSLOTS", "    Delete current node own slots information."])
        .help_after("getkeysinslot")
        .summary("Removes all slots from this node."),
    change("forget", 3, nodes::forget, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&["FORGET <node-id>", "    Remove a node from the cluster."])
        .summary("Removes a node from the known nodes.")
        .syntax("node-id"),
    report("getkeysinslot", 4, slots::keys, "3.0.0", "O(log(N)) where N is the number of requested keys")
        .flags(&[READ])
        .help(&["GETKEYSINSLOT <slot> <count>", "    Return key names stored by current node in a slot."])
        .summary("Returns keys of a slot on this node.")
        .syntax("slot count")
        .tips(&["nondeterministic_output"]),
    change("gossip", 3, gossip::gossip, "1.0.0", "O(N) where N is the number of nodes that are told of")
        .flags(&[GOSSIP])
        .internal()
        .summary("Carries a message between two nodes of the cluster.")
        .syntax("message"),
    report("info", 2, topology::info, "3.0.0", "O(1)")
        .flags(&[READ])
        .help(&["INFO", "    Return information about the cluster."])
        .summary("The state of the cluster as this node sees it.")
        .tips(&["nondeterministic_output"]),
    report("keyslot", 3, topology::key_slot, "3.0.0", "O(N) where N is the number of bytes in the key")
        .flags(&[READ])
        .help(&["KEYSLOT <key>", "    Return the hash slot for <key>."])
        .summary("The slot of a key.")
        .syntax("key:string"),
    report("links", 2, topology::links, "7.0.0", "O(N) where N is the total number of Cluster nodes")
        .flags(&[READ])
        .help(&[
            "LINKS",
            "    Return information about all network links between this node and its peers.",
            "    Output format is an array where each array element is a map containing attributes of a link",
        ])
        .help_after("shards")
        .summary("The connections to other nodes.")
        .tips(&["nondeterministic_output"]),
    change("meet", -4, nodes::meet, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&["MEET <ip> <port> [<bus-port>]", "    Connect nodes into a working cluster."])
        .summary("Introduces this node to another node.")
        .history(&[("4.0.0", "Added the optional `cluster_bus_port` argument.")])
        .syntax("ip port [cluster-bus-port=cluster_bus_port@4.0.0]"),
    report("myid", 2, topology::my_id, "3.0.0", "O(1)")
        .flags(&[READ])
        .help(&["MYID", "    Return the node id."])
        .summary("The name of this node."),
    report("myshardid", 2, topology::my_shard_id, "7.2.0", "O(1)")
        .flags(&[SHARD])
        .help(&["MYSHARDID", "    Return the node's shard id."])
        .summary("The name of the shard that this node belongs to.")
        .tips(&["nondeterministic_output"]),
    report("nodes", 2, topology::nodes, "3.0.0", "O(N) where N is the total number of Cluster nodes")
        .flags(&[READ])
        .help(&[
            "NODES",
            "    Return cluster configuration seen by node. Output format:",
            "    <id> <ip:port> <flags> <master> <pings> <pongs> <epoch> <link> <slot> ...",
        ])
        .summary("Returns the known nodes in the format of the configuration file.")
        .tips(&["nondeterministic_output"]),
    report("replicas", 3, topology::replicas, "5.0.0", "O(1)")
        .flags(&[NODES])
        .help(&["REPLICAS <node-id>", "    Return <node-id> replicas."])
        .help_after("setslot")
        .summary("The replicas of a node.")
        .syntax("node-id")
        .tips(&["nondeterministic_output"]),
    change("replicate", 3, nodes::replicate, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&["REPLICATE <node-id>", "    Configure current node as replica to <node-id>."])
        .summary("Makes this node a replica of another.")
        .syntax("node-id"),
    change(
        "reset",
        -2,
        nodes::reset,
        "3.0.0",
        "O(N) where N is the number of known nodes. The command may execute a FLUSHALL as a side effect.",
    )
    .flags(&[RESET])
    .help(&["RESET [HARD|SOFT]", "    Reset current node (default: soft)."])
    .summary("Makes this node forget the cluster.")
    .syntax("[HARD | SOFT]"),
    change("saveconfig", 2, nodes::save, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&["SAVECONFIG", "    Force saving cluster configuration on disk."])
        .help_after("replicas")
        .summary("Writes the node's configuration to disk."),
    change("set-config-epoch", 3, nodes::set_config_epoch, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&["SET-CONFIG-EPOCH <epoch>", "    Set config epoch of current node."])
        .summary("Sets the epoch of a new node.")
        .syntax("config-epoch"),
    change("setslot", -4, slots::set_slot, "3.0.0", "O(1)")
        .flags(&[ADMIN])
        .help(&[
            "SETSLOT <slot> (IMPORTING <node-id>|MIGRATING <node-id>|STABLE|NODE <node-id>)",
            "    Set slot state.",
        ])
        .summary("Assigns a slot to a node, or marks it as migrating or importing.")
        .syntax("slot (subcommand: IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE)"),
    report("shards", 2, topology::shards, "7.0.0", "O(N) where N is the total number of cluster nodes")
        .flags(&[READ])
        .help(&[
            "SHARDS",
            "    Return information about slot range mappings and the nodes associated with them.",
        ])
        .help_after("slots")
        .summary("Returns the slots of each node.")
        .tips(&["nondeterministic_output"]),
    report("slaves", 3, topology::replicas, "3.0.0", "O(1)")
        .flags(&[NODES])
        .summary("The replicas of a node.")
        .deprecated("5.0.0", "`CLUSTER REPLICAS`")
        .syntax("node-id")
        .tips(&["nondeterministic_output"]),
    report("slots", 2, topology::slots, "3.0.0", "O(N) where N is the total number of Cluster nodes")
        .flags(&[READ])
        .help(&[
            "SLOTS",
            "    Return information about slots range mappings. Each range is made of:",
            "    start, end, master and replicas IP addresses, ports and ids",
        ])
        .summary("Returns the slots of each node.")
        .history(&[("4.0.0", "Added node IDs."), ("7.0.0", "Added additional networking metadata field.")])
        .deprecated("7.0.0", "`CLUSTER SHARDS`")
        .tips(&["nondeterministic_output"]),
    report("help", 2, topology::help, "5.0.0", "O(1)")
        .flags(&[Flags::LOADING, Flags::STALE])
        .summary("The subcommands of CLUSTER."),
];

/// Returns the row of a command that changes the cluster; only a cluster node accepts it.
const fn change(
    name: &'static str,
    arity: i32,
    handler: ClusterChangeHandler,
    since: &'static str,
    complexity: &'static str,
) -> Row<Handler> {
    row(name, arity, ClusterHandler::Change(handler), since, complexity)
}

/// Returns the row of a command that reads the state of the cluster; only a cluster node accepts it.
const fn report(
    name: &'static str,
    arity: i32,
    handler: ClusterReportHandler,
    since: &'static str,
    complexity: &'static str,
) -> Row<Handler> {
    row(name, arity, ClusterHandler::Report(handler), since, complexity)
}

const fn row(
    name: &'static str,
    arity: i32,
    handler: ClusterHandler,
    since: &'static str,
    complexity: &'static str,
) -> Row<Handler> {
    let handler = Handler::Part(PartHandler::Cluster(handler));
    Row::new(name, arity, handler).about("cluster", since, complexity).errors(&[DISABLED])
}
