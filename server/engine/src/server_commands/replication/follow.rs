//! ROLE and REPLICAOF: whose replica the server is.

use crate::core::{Call, Engine};
use crate::replication::{LinkState, ReplicaState};
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_resp::Reply;

pub(super) const INVALID_PORT: &str = "ERR Invalid master port";
pub(super) const WHILE_FAILING_OVER: &str = "ERR REPLICAOF not allowed while failing over.";
pub(super) const BY_A_REPLICA: &str = "ERR Command is not valid when client is a replica.";

pub(super) fn role(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match &engine.following {
        None => {
            reply.array(3);
            reply.bulk(b"master");
            reply.integer(engine.replication.offset);
            let online = engine.replication.online().filter(|replica| replica.state == ReplicaState::Online);
            let online: Vec<_> = online.filter(|replica| !replica.ip.is_empty()).collect();
            reply.array(online.len());
            for replica in online {
                reply.array(3);
                reply.bulk(replica.ip.as_bytes());
                reply.bulk(replica.announced.port.to_string().as_bytes());
                reply.bulk(replica.acknowledged.to_string().as_bytes());
            }
        }
        Some(following) => {
            reply.array(5);
            reply.bulk(b"slave");
            reply.bulk(following.host.as_bytes());
            reply.integer(following.port.into());
            reply.bulk(following.state().map_or("connect", LinkState::name).as_bytes());
            reply.integer(if following.is_connected() { engine.replication.offset } else { -1 });
        }
    }
    Ok(())
}

pub(super) fn replicaof(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    if engine.config.cluster.enabled {
        return Err(CommandError::text("ERR REPLICAOF not allowed in cluster mode."));
    }
    if engine.replication.failover.is_some() {
        return Err(CommandError::text(WHILE_FAILING_OVER));
    }
    if args.is(1, "no") && args.is(2, "one") {
        if engine.following.is_some() {
            engine.unfollow_master();
            let client = engine.asking_client(call.slot, args);
            tracing::info!("MASTER MODE enabled (user request from '{client}')");
        }
        reply.ok();
        return Ok(());
    }
    if engine.session(call.slot).is_replica {
        return Err(CommandError::text(BY_A_REPLICA));
    }
    let port = args.int_in(2, 0, 65535, CommandError::text(INVALID_PORT));
    let port = port.map_err(|_| CommandError::text(INVALID_PORT))? as u16;
    let host = String::from_utf8_lossy(&args[1]).into_owned();
    let is_same =
        |host: &str| engine.following.as_ref().is_some_and(|now| now.host == host && now.port == port);
    if is_same(&host) {
        tracing::info!(
            "REPLICAOF would result into synchronization with the master we are already connected with. No operation \
             performed."
        );
        reply.status(b"OK Already connected to specified master");
        return Ok(());
    }
    if engine.following.is_none() {
        tracing::info!(
            "Before turning into a replica, using my own master parameters to synthesize a cached master: I may be \
             able to synchronize with the new master with just a partial transfer."
        );
    }
    let client = engine.asking_client(call.slot, args);
    let place = format!("{host}:{port}");
    engine.follow_master(host, port);
    tracing::info!("REPLICAOF {place} enabled (user request from '{client}')");
    reply.ok();
    Ok(())
}
