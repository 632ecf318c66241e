//! ROLE and REPLICAOF: the role of the server, and its master.

use crate::clients::Session;
use crate::replication::{LinkState, ReplicationRequest, ReplicationView, Requested};
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;

pub(super) const INVALID_PORT: &str = "ERR Invalid master port";
pub(super) const WHILE_FAILING_OVER: &str = "ERR REPLICAOF not allowed while failing over.";
pub(super) const BY_A_REPLICA: &str = "ERR Command is not valid when client is a replica.";

pub(super) fn role<'a>(
    view: ReplicationView<'_>,
    _: &Session,
    _: Args<'a>,
    reply: &mut dyn Reply,
) -> Requested<'a> {
    match view.link() {
        None => {
            reply.array(3);
            reply.bulk(b"master");
            reply.integer(view.history().offset());
            let online: Vec<_> = view.history().online().filter(|replica| !replica.ip.is_empty()).collect();
            reply.array(online.len());
            for replica in online {
                reply.array(3);
                reply.bulk(replica.ip.as_bytes());
                reply.bulk(replica.announced.port.to_string().as_bytes());
                reply.bulk(replica.acknowledged.to_string().as_bytes());
            }
        }
        Some(link) => {
            reply.array(5);
            reply.bulk(b"slave");
            reply.bulk(link.host().as_bytes());
            reply.integer(link.port().into());
            reply.bulk(link.state().map_or("connect", LinkState::name).as_bytes());
            reply.integer(if link.is_connected() { view.history().offset() } else { -1 });
        }
    }
    Ok(ReplicationRequest::Nothing)
}

pub(super) fn replicaof<'a>(
    view: ReplicationView<'_>,
    session: &Session,
    args: Args<'a>,
    reply: &mut dyn Reply,
) -> Requested<'a> {
    if view.config().cluster.enabled {
        return Err(CommandError::text("ERR REPLICAOF not allowed in cluster mode."));
    }
    if view.history().fails_over() {
        return Err(CommandError::text(WHILE_FAILING_OVER));
    }
    if args.is(1, "no") && args.is(2, "one") {
        return Ok(ReplicationRequest::Unfollow);
    }
    if session.is_replica {
        return Err(CommandError::text(BY_A_REPLICA));
    }
    let port = args.int_in(2, 0, 65535, CommandError::text(INVALID_PORT));
    let port = port.map_err(|_| CommandError::text(INVALID_PORT))? as u16;
    let host = String::from_utf8_lossy(&args[1]).into_owned();
    if view.link().is_some_and(|link| link.is_to(&host, port)) {
        tracing::info!(
            "REPLICAOF would result into synchronization with the master we are already connected with. No operation \
             performed."
        );
        reply.status(b"OK Already connected to specified master");
        return Ok(ReplicationRequest::Nothing);
    }
    Ok(ReplicationRequest::Follow { host, port })
}
