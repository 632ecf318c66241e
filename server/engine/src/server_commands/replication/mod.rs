//! Replication commands: the server's master, its replicas, and waits for these.

mod attach;
mod failover;
mod follow;
mod waits;

use crate::core::{Handler, PartHandler};
use crate::replication::NO_MASTER_LINK;
use crate::spec::{Flags, Row};
use attach::{HEIR_IS_MASTER, OTHER_HISTORY};
use follow::{BY_A_REPLICA, INVALID_PORT, WHILE_FAILING_OVER};
use waits::{NO_APPEND_ONLY_FILE, WAIT_ON_REPLICA, WAITAOF_ON_REPLICA};

/// The error for a word that must be 0 or 1.
const NEITHER_0_NOR_1: &str = "ERR value is out of range, value must between 0 and 1";

pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("role", 1, Handler::Part(PartHandler::Replication(follow::role)))
        .flags(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "2.8.12", "O(1)")
        .summary("Returns the server's role in replication, and its master or replicas."),
    Row::new("wait", 3, Handler::Part(PartHandler::ReplicaWait(waits::wait)))
        .flags(&[Flags::BLOCKING])
        .categories(&["connection"])
        .about("generic", "3.0.0", "O(1)")
        .summary("Waits until a number of replicas acknowledge this client's writes; returns how many do.")
        .syntax("numreplicas timeout:integer")
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .errors(&[
            "ERR timeout is negative",
            "ERR timeout is not an integer or out of range",
            "ERR timeout is out of range",
            "ERR value is not an integer or out of range",
            WAIT_ON_REPLICA,
        ]),
    Row::new("waitaof", 4, Handler::Part(PartHandler::ReplicaWait(waits::waitaof)))
        .flags(&[Flags::BLOCKING])
        .categories(&["connection"])
        .about("generic", "7.2.0", "O(1)")
        .summary(
            "Waits until a number of replicas acknowledge this client's writes on disk. This server writes \
             none.",
        )
        .syntax("numlocal numreplicas timeout:integer")
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .errors(&[
            "ERR value is not an integer or out of range",
            NEITHER_0_NOR_1,
            "ERR value is out of range, must be positive",
            "ERR timeout is negative",
            "ERR timeout is not an integer or out of range",
            "ERR timeout is out of range",
            NO_APPEND_ONLY_FILE,
            WAITAOF_ON_REPLICA,
        ]),
    Row::new("replicaof", 3, Handler::Part(PartHandler::Replication(follow::replicaof)))
        .flags(&[OF_MASTERS, Flags::STALE, Flags::NO_ASYNC_LOADING])
        .about("server", "5.0.0", "O(1)")
        .summary("Makes the server a replica, or a master again.")
        .syntax("(args: (host-port: host port) | (no-one: NO ONE))")
        .errors(&[INVALID_PORT, BY_A_REPLICA, WHILE_FAILING_OVER]),
    Row::new("slaveof", 3, Handler::Part(PartHandler::Replication(follow::replicaof)))
        .flags(&[OF_MASTERS, Flags::STALE, Flags::NO_ASYNC_LOADING])
        .about("server", "1.0.0", "O(1)")
        .summary("The same as REPLICAOF.")
        .deprecated("5.0.0", "`REPLICAOF`")
        .syntax("(args: (host-port: host port) | (no-one: NO ONE))")
        .errors(&[INVALID_PORT, BY_A_REPLICA, WHILE_FAILING_OVER]),
    Row::new("failover", -1, Handler::Part(PartHandler::Replication(failover::failover)))
        .flags(&[OF_MASTERS, Flags::STALE])
        .about("server", "6.2.0", "O(1)")
        .summary("Hands the role of master over to a replica once the replica has all data.")
        .syntax("[TO (target: host port [FORCE])] [ABORT] [TIMEOUT milliseconds]")
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            failover::TIMEOUT,
            failover::NONE,
            failover::UNDER_WAY,
            failover::ON_REPLICA,
            failover::NO_REPLICAS,
            failover::FORCED_WHERE,
            failover::NO_REPLICA,
            failover::NOT_ONLINE,
        ]),
    Row::new("replconf", -1, Handler::Part(PartHandler::Replconf(attach::replconf)))
        .flags(&[OF_MASTERS, Flags::LOADING, Flags::STALE, Flags::ALLOW_BUSY])
        .about("server", "3.0.0", "O(1)")
        .summary("Reports properties of a replica to its master.")
        .internal()
        .syntax("[option value [option value ...]]")
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR Unrecognized REPLCONF option: *",
            NEITHER_0_NOR_1,
            "ERR Unsupported rdb-filter-only option: *",
            "ERR REPLCONF ip-address provided by replica instance is too long: *",
        ]),
    Row::new("psync", -3, Handler::Part(PartHandler::Replication(attach::psync)))
        .flags(&[OF_MASTERS, Flags::NO_ASYNC_LOADING, Flags::NO_MULTI])
        .about("server", "2.8.0", "")
        .summary("Starts replication: requests the missing data and the replication stream.")
        .syntax("replicationid offset")
        .errors(&[
            "ERR value is not an integer or out of range",
            NO_MASTER_LINK,
            HEIR_IS_MASTER,
            OTHER_HISTORY,
        ]),
    Row::new("sync", 1, Handler::Part(PartHandler::Replication(attach::sync)))
        .flags(&[OF_MASTERS, Flags::NO_ASYNC_LOADING, Flags::NO_MULTI])
        .about("server", "1.0.0", "")
        .summary("Starts replication like PSYNC, with another reply.")
        .errors(&[NO_MASTER_LINK]),
];

const OF_MASTERS: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT]);
