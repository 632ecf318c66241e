//! FAILOVER: a master hands its role over to a replica.

use crate::clients::Session;
use crate::replication::{FailoverRequest, ReplicaState, ReplicationRequest, ReplicationView, Requested};
use crate::spec::{Args, CommandError, errors};
use lockwheel_resp::Reply;

pub(super) const TIMEOUT: &str = "ERR FAILOVER timeout must be greater than 0";
pub(super) const NONE: &str = "ERR No failover in progress.";
const IN_CLUSTER: &str = "ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.";
pub(super) const UNDER_WAY: &str = "ERR FAILOVER already in progress.";
pub(super) const ON_REPLICA: &str = "ERR FAILOVER is not valid when server is a replica.";
pub(super) const NO_REPLICAS: &str = "ERR FAILOVER requires connected replicas.";
pub(super) const FORCED_WHERE: &str =
    "ERR FAILOVER with force option requires both a timeout and target HOST and IP.";
pub(super) const NO_REPLICA: &str = "ERR FAILOVER target HOST and PORT is not a replica.";
pub(super) const NOT_ONLINE: &str = "ERR FAILOVER target replica is not online.";

#[derive(Debug, Default)]
struct Asked {
    to: Option<(String, i64)>,
    timeout_ms: Option<i64>,
    is_forced: bool,
}

impl Asked {
    fn read(args: Args<'_>) -> Result<Self, CommandError> {
        let (mut asked, mut at) = (Asked::default(), 1);
        while at < args.len() {
            if args.is(at, "timeout") && at + 1 < args.len() && asked.timeout_ms.is_none() {
                let ms = args.int_in(at + 1, 1, i64::MAX, CommandError::text(TIMEOUT))?;
                asked.timeout_ms = Some(ms);
                at += 2;
            } else if args.is(at, "to") && at + 2 < args.len() && asked.to.is_none() {
                let port = args.int(at + 2)?;
                asked.to = Some((String::from_utf8_lossy(&args[at + 1]).into_owned(), port));
                at += 3;
            } else if args.is(at, "force") && !asked.is_forced {
                asked.is_forced = true;
                at += 1;
            } else {
                return Err(errors::SYNTAX);
            }
        }
        Ok(asked)
    }
}

pub(super) fn failover<'a>(
    view: ReplicationView<'_>,
    _: &Session,
    args: Args<'a>,
    _: &mut dyn Reply,
) -> Requested<'a> {
    if view.config().cluster.enabled {
        return Err(CommandError::text(IN_CLUSTER));
    }
    let history = view.history();
    if args.len() == 2 && args.is(1, "abort") {
        if !history.fails_over() {
            return Err(CommandError::text(NONE));
        }
        return Ok(ReplicationRequest::AbortFailover);
    }
    let asked = Asked::read(args)?;
    if history.fails_over() {
        return Err(CommandError::text(UNDER_WAY));
    }
    if view.is_replica() {
        return Err(CommandError::text(ON_REPLICA));
    }
    if history.replicas().len() == 0 {
        return Err(CommandError::text(NO_REPLICAS));
    }
    if asked.is_forced && (asked.timeout_ms.is_none() || asked.to.is_none()) {
        return Err(CommandError::text(FORCED_WHERE));
    }
    let to = match asked.to {
        None => None,
        Some((host, port)) => {
            let replica = history.at(&host, port).ok_or(CommandError::text(NO_REPLICA))?;
            if replica.state != ReplicaState::Online {
                return Err(CommandError::text(NOT_ONLINE));
            }
            Some((host, replica.announced.port))
        }
    };
    let (timeout_ms, is_forced) = (asked.timeout_ms, asked.is_forced);
    Ok(ReplicationRequest::Failover(FailoverRequest { to, timeout_ms, is_forced }))
}
