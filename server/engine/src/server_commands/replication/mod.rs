//! Replication: whose replica the server is, who its replicas are, and waiting for these.

mod attach;
mod follow;
mod waits;

use crate::core::{Call, Engine, Handler};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};
use attach::{NO_MASTER_LINK, SNAPSHOT_ONLY_RANGE};
use follow::{BY_A_REPLICA, INVALID_PORT};
use lockwheel_resp::Reply;
use waits::{LOCAL_OUT_OF_RANGE, NO_APPEND_ONLY_FILE, WAIT_ON_REPLICA, WAITAOF_ON_REPLICA};

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("role", 1, Handler::Engine(follow::role))
        .flags(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "2.8.12", "O(1)")
        .summary("Tells the server's part in replication, and who has the others."),
    Row::new("wait", 3, Handler::BlockingEngine(waits::wait))
        .flags(&[Flags::BLOCKING])
        .categories(&["connection"])
        .about("generic", "3.0.0", "O(1)")
        .summary(
            "Waits until so many replicas say that they have this client's writes; how many do.",
        )
        .syntax("numreplicas timeout:integer")
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .errors(&[
            "ERR timeout is negative",
            "ERR timeout is not an integer or out of range",
            "ERR value is not an integer or out of range",
            WAIT_ON_REPLICA,
        ]),
    Row::new("waitaof", 4, Handler::BlockingEngine(waits::waitaof))
        .flags(&[Flags::BLOCKING])
        .categories(&["connection"])
        .about("generic", "7.2.0", "O(1)")
        .summary(
            "Waits until so many replicas say that they have this client's writes on disk. This server writes none.",
        )
        .syntax("numlocal numreplicas timeout:integer")
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .errors(&[
            "ERR value is not an integer or out of range",
            LOCAL_OUT_OF_RANGE,
            "ERR value is out of range, must be positive",
            "ERR timeout is negative",
            "ERR timeout is not an integer or out of range",
            NO_APPEND_ONLY_FILE,
            WAITAOF_ON_REPLICA,
        ]),
    Row::new("replicaof", 3, Handler::Engine(follow::replicaof))
        .flags(&[OF_MASTERS, Flags::STALE, Flags::NO_ASYNC_LOADING])
        .about("server", "5.0.0", "O(1)")
        .summary("Makes the server a replica, or nobody's any more.")
        .syntax("(args: (host-port: host port) | (no-one: NO ONE))")
        .errors(&[INVALID_PORT, BY_A_REPLICA]),
    Row::new("slaveof", 3, Handler::Engine(follow::replicaof))
        .flags(&[OF_MASTERS, Flags::STALE, Flags::NO_ASYNC_LOADING])
        .about("server", "1.0.0", "O(1)")
        .summary("The same as REPLICAOF.")
        .deprecated("5.0.0", "`REPLICAOF`")
        .syntax("(args: (host-port: host port) | (no-one: NO ONE))")
        .errors(&[INVALID_PORT, BY_A_REPLICA]),
    Row::new("failover", -1, Handler::Engine(failover))
        .flags(&[OF_MASTERS, Flags::STALE])
        .about("server", "6.2.0", "O(1)")
        .summary("Would hand the master's part over to a replica; REPLICAOF does.")
        .syntax("[TO (target: host port [FORCE])] [ABORT] [TIMEOUT milliseconds]")
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            FAILOVER_TIMEOUT,
            NO_FAILOVER,
            FAILOVER_ON_REPLICA,
            NO_REPLICAS,
            NO_HANDOVER,
        ]),
    Row::new("replconf", -1, Handler::Engine(attach::replconf))
        .flags(&[OF_MASTERS, Flags::LOADING, Flags::STALE, Flags::ALLOW_BUSY])
        .about("server", "3.0.0", "O(1)")
        .summary("What a replica tells of itself.")
        .internal()
        .syntax("[option value [option value ...]]")
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR Unrecognized REPLCONF option: *",
            SNAPSHOT_ONLY_RANGE,
            "ERR Unsupported rdb-filter-only option: *",
            "ERR REPLCONF ip-address provided by replica instance is too long: *",
        ]),
    Row::new("psync", -3, Handler::Engine(attach::psync))
        .flags(&[OF_MASTERS, Flags::NO_ASYNC_LOADING, Flags::NO_MULTI])
        .about("server", "2.8.0", "")
        .summary("Asks for what a replica lacks, and the stream of changes.")
        .syntax("replicationid offset")
        .errors(&["ERR value is not an integer or out of range", NO_MASTER_LINK]),
    Row::new("sync", 1, Handler::Engine(attach::sync))
        .flags(&[OF_MASTERS, Flags::NO_ASYNC_LOADING, Flags::NO_MULTI])
        .about("server", "1.0.0", "")
        .summary("The same, with another answer.")
        .errors(&[NO_MASTER_LINK]),
];

const OF_MASTERS: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT]);

const FAILOVER_TIMEOUT: &str = "ERR FAILOVER timeout must be greater than 0";
const NO_FAILOVER: &str = "ERR No failover in progress.";
const FAILOVER_ON_REPLICA: &str = "ERR FAILOVER is not valid when server is a replica.";
const NO_HANDOVER: &str = "ERR FAILOVER is not supported, REPLICAOF NO ONE makes a replica a master";
const NO_REPLICAS: &str = "ERR FAILOVER requires connected replicas.";

/// Nothing is handed over by this command: what can be wrong with it is told as Redis tells it.
fn failover(engine: &mut Engine, _: Call<'_>, args: Args<'_>, _: &mut dyn Reply) -> Outcome {
    if args.len() == 2 && args.is(1, "abort") {
        return Err(CommandError::text(NO_FAILOVER));
    }
    let (mut at, mut has_target, mut has_timeout) = (1, false, false);
    while at < args.len() {
        if args.is(at, "timeout") && at + 1 < args.len() && !has_timeout {
            args.int_in(at + 1, 1, i64::MAX, CommandError::text(FAILOVER_TIMEOUT))?;
            has_timeout = true;
            at += 2;
        } else if args.is(at, "to") && at + 2 < args.len() && !has_target {
            args.int(at + 2)?;
            has_target = true;
            at += 3;
        } else if args.is(at, "force") {
            at += 1;
        } else {
            return Err(errors::SYNTAX);
        }
    }
    if engine.following.is_some() {
        return Err(CommandError::text(FAILOVER_ON_REPLICA));
    }
    let is_alone = engine.replication.replicas.is_empty();
    Err(CommandError::text(if is_alone { NO_REPLICAS } else { NO_HANDOVER }))
}
