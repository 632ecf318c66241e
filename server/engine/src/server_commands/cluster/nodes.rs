//! The nodes of the cluster and their roles: MEET, FORGET, REPLICATE, FAILOVER, RESET, and epochs.

use crate::cluster::{
    BUS_PORT_DISTANCE, ClusterControl, ClusterOutcome, ClusterReport, ClusterRequest, ClusterView, MAX_NODES,
    Node, NodeFlags, NodeId, NodeNumber,
};
use crate::spec::{Args, CommandError, Outcome, errors, quotable};
use lockwheel_resp::{Reply, number};
use std::net::IpAddr;

pub(super) fn known(view: &ClusterView, id: &[u8]) -> Result<NodeNumber, CommandError> {
    view.find(id).ok_or_else(|| CommandError::new([b"ERR Unknown node ", quotable(id)].concat()))
}

pub(super) fn meet(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    if args.len() > 5 {
        return Err(crate::spec::unknown_or_arity(args));
    }
    let port = port_at(args, 3, "TCP base")?;
    let bus_port = if args.len() == 5 {
        port_at(args, 4, "TCP bus")?
    } else {
        port.saturating_add(BUS_PORT_DISTANCE.into())
    };
    let ip = std::str::from_utf8(&args[2]).ok().and_then(|ip| ip.parse::<IpAddr>().ok());
    let ports = u16::try_from(port).ok().zip(u16::try_from(bus_port).ok());
    let address = ip.zip(ports).filter(|(_, (port, bus_port))| *port > 0 && *bus_port > 0);
    let Some((ip, (port, bus_port))) = address else {
        let text = [b"ERR Invalid node address specified: ", quotable(&args[2]), b":", quotable(&args[3])];
        return Err(CommandError::new(text.concat()));
    };
    let id = NodeId::random(control.keyspace.rng());
    let view = control.cluster.view_mut();
    let ip = ip.to_string();
    let is_met =
        |node: &Node| node.flags.contains(NodeFlags::HANDSHAKE) && node.ip == ip && node.bus_port == bus_port;
    if !view.nodes().any(|(_, node)| is_met(node)) && view.nodes().len() < MAX_NODES {
        let tls = view.me().port == 0;
        let (port, tls_port) = if tls { (0, port) } else { (port, 0) };
        view.add_node(Node { ip, port, tls_port, bus_port, flags: NodeFlags::HANDSHAKE, ..Node::new(id) });
        return Ok(ClusterRequest::ViewChanged);
    }
    Ok(ClusterRequest::Done)
}

fn port_at(args: Args<'_>, at: usize, which: &str) -> Result<i64, CommandError> {
    number::parse_i64(&args[at]).ok_or_else(|| {
        let begins = format!("ERR Invalid {which} port specified: ");
        CommandError::new([begins.as_bytes(), quotable(&args[at])].concat())
    })
}

pub(super) fn forget(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    let now_ms = control.now.wall_ms();
    let view = control.cluster.view_mut();
    if view.is_forgotten(&args[2], now_ms) && view.find(&args[2]).is_none() {
        return Ok(ClusterRequest::Done);
    }
    let number = known(view, &args[2])?;
    if number == view.my_number() {
        return Err(CommandError::text("ERR I tried hard but I can't forget myself..."));
    }
    if view.me().is_replica() && view.me().master == Some(number) {
        return Err(CommandError::text("ERR Can't forget my master!"));
    }
    view.forget(number, now_ms);
    Ok(ClusterRequest::ViewChanged)
}

pub(super) fn replicate(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    let has_keys = control.keyspace.sizes(0).0 > 0;
    let view = control.cluster.view();
    let number = known(view, &args[2])?;
    if number == view.my_number() {
        return Err(CommandError::text("ERR Can't replicate myself"));
    }
    if view.node(number).is_some_and(Node::is_replica) {
        return Err(CommandError::text("ERR I can only replicate a master, not a replica."));
    }
    if view.me().is_master() && (view.me().slots > 0 || has_keys) {
        return Err(CommandError::text(
            "ERR To set a master the node must be empty and without assigned slots.",
        ));
    }
    Ok(ClusterRequest::Replicate(number))
}

pub(super) fn count_failure_reports(
    report: ClusterReport<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let node = known(report.cluster.view(), &args[2])?;
    reply.integer(report.cluster.gossip().failure_reports(node) as i64);
    Ok(())
}

/// Starts a takeover by a replica. By default, the replica first catches up with its master. FORCE skips that. Both
/// need the votes of the masters, whereas TAKEOVER asks no node.
pub(super) fn failover(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    let view = control.cluster.view();
    let (forced, takes_over) = match args.len() {
        2 => (false, false),
        3 if args.is(2, "force") => (true, false),
        3 if args.is(2, "takeover") => (true, true),
        3 => return Err(errors::SYNTAX),
        _ => return Err(crate::spec::unknown_or_arity(args)),
    };
    if view.me().is_master() {
        return Err(CommandError::text("ERR You should send CLUSTER FAILOVER to a replica"));
    }
    let Some(master) = view.me().master.and_then(|master| view.node(master)) else {
        return Err(CommandError::text("ERR I'm a replica but my master is unknown to me"));
    };
    if !forced && (master.has_failed() || !master.is_linked) {
        return Err(CommandError::text("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE"));
    }
    Ok(ClusterRequest::FailOver { forced, takes_over })
}

pub(super) fn reset(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    let has_keys = control.keyspace.sizes(0).0 > 0;
    let is_replica = control.cluster.view().me().is_replica();
    let hard = match args.len() {
        2 => false,
        3 if args.is(2, "hard") => true,
        3 if args.is(2, "soft") => false,
        3 => return Err(errors::SYNTAX),
        _ => return Err(crate::spec::unknown_or_arity(args)),
    };
    if !is_replica && has_keys {
        return Err(CommandError::text(
            "ERR CLUSTER RESET can't be called with master nodes containing keys",
        ));
    }
    if is_replica {
        control.keyspace.tx(0, control.now).flush_all();
    }
    Ok(ClusterRequest::Reset(hard.then(|| NodeId::random(control.keyspace.rng()))))
}

pub(super) fn bump_epoch(control: &mut ClusterControl<'_>, _: Args<'_>) -> ClusterOutcome {
    let view = control.cluster.view_mut();
    let is_new = view.bump_epoch();
    if is_new {
        tracing::warn!("New configEpoch set to {}", view.me().config_epoch);
    }
    let word = if is_new { "BUMPED" } else { "STILL" };
    Ok(ClusterRequest::ViewChangedTo(format!("{word} {}", view.me().config_epoch)))
}

pub(super) fn set_config_epoch(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    let view = control.cluster.view_mut();
    let epoch = args.int(2)?;
    let Ok(epoch) = u64::try_from(epoch) else {
        return Err(CommandError::new(format!("ERR Invalid config epoch specified: {epoch}")));
    };
    if view.nodes().len() > 1 {
        return Err(CommandError::text(
            "ERR The user can assign a config epoch only when the node does not know any other node.",
        ));
    }
    if view.me().config_epoch != 0 {
        return Err(CommandError::text("ERR Node config epoch is already non-zero"));
    }
    view.me_mut().config_epoch = epoch;
    view.current_epoch = view.current_epoch.max(epoch);
    Ok(ClusterRequest::ViewChanged)
}

pub(super) fn save(_: &mut ClusterControl<'_>, _: Args<'_>) -> ClusterOutcome {
    Ok(ClusterRequest::Save)
}
