//! Which nodes there are and what they are: MEET, FORGET, REPLICATE, FAILOVER, RESET, and epochs.

use super::ok;
use crate::cluster::{BUS_PORT_DISTANCE, ClusterView, Gossip, NODES_MAX, Node, NodeFlags, NodeNumber};
use crate::config::system_reason;
use crate::core::{Call, Engine};
use crate::spec::{Args, CommandError, Outcome, errors, quotable};
use lockwheel_resp::{Reply, number};
use std::net::IpAddr;

/// The node of this name.
pub(super) fn known(view: &ClusterView, id: &[u8]) -> Result<NodeNumber, CommandError> {
    view.find(id).ok_or_else(|| CommandError::new([b"ERR Unknown node ", quotable(id)].concat()))
}

pub(super) fn meet(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster()?;
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
    let id = engine.new_node_id();
    let view = &mut engine.cluster_mut()?.view;
    let ip = ip.to_string();
    let is_met =
        |node: &Node| node.flags.contains(NodeFlags::HANDSHAKE) && node.ip == ip && node.bus_port == bus_port;
    if !view.nodes().any(|(_, node)| is_met(node)) && view.nodes().len() < NODES_MAX {
        let tls = view.me().port == 0;
        let (port, tls_port) = if tls { (0, port) } else { (port, 0) };
        view.add_node(Node { ip, port, tls_port, bus_port, flags: NodeFlags::HANDSHAKE, ..Node::new(id) });
        engine.cluster_changed();
    }
    ok(reply)
}

fn port_at(args: Args<'_>, at: usize, which: &str) -> Result<i64, CommandError> {
    number::parse_i64(&args[at]).ok_or_else(|| {
        let begins = format!("ERR Invalid {which} port specified: ");
        CommandError::new([begins.as_bytes(), quotable(&args[at])].concat())
    })
}

pub(super) fn forget(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let now_ms = engine.now().wall_ms();
    let view = &mut engine.cluster_mut()?.view;
    if view.is_forgotten(&args[2], now_ms) && view.find(&args[2]).is_none() {
        return ok(reply);
    }
    let number = known(view, &args[2])?;
    if number == view.my_number() {
        return Err(CommandError::text("ERR I tried hard but I can't forget myself..."));
    }
    if view.me().is_replica() && view.me().master == Some(number) {
        return Err(CommandError::text("ERR Can't forget my master!"));
    }
    view.forget(number, now_ms);
    engine.cluster_changed();
    ok(reply)
}

pub(super) fn replicate(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let has_keys = engine.keyspace.sizes(0).0 > 0;
    let view = &engine.cluster()?.view;
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
    engine.with_gossip(|gossip, view| gossip.become_replica_of(view, number));
    engine.with_gossip(Gossip::tell_all);
    ok(reply)
}

pub(super) fn count_failure_reports(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let cluster = engine.cluster()?;
    let node = known(&cluster.view, &args[2])?;
    reply.integer(cluster.gossip.failure_reports(node) as i64);
    Ok(())
}

/// A replica takes over: once it has all that its master has, with FORCE whatever that has, each with the votes of the
/// masters; with TAKEOVER without asking anybody.
pub(super) fn failover(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let view = &engine.cluster()?.view;
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
    engine.with_gossip(|gossip, view| match takes_over {
        true => gossip.seize(view),
        false => gossip.begin_manual(view, forced),
    });
    ok(reply)
}

pub(super) fn reset(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let has_keys = engine.keyspace.sizes(0).0 > 0;
    let is_replica = engine.cluster()?.view.me().is_replica();
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
        engine.keyspace.tx(0, engine.now()).flush_all();
    }
    let name = hard.then(|| engine.new_node_id());
    engine.with_gossip(Gossip::end);
    engine.cluster_mut()?.view.reset(name);
    engine.cluster_changed();
    ok(reply)
}

pub(super) fn bump_epoch(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let view = &mut engine.cluster_mut()?.view;
    let is_new = view.bump_epoch();
    if is_new {
        tracing::warn!("New configEpoch set to {}", view.me().config_epoch);
    }
    let word = if is_new { "BUMPED" } else { "STILL" };
    let answer = format!("{word} {}", view.me().config_epoch);
    engine.cluster_changed();
    reply.status(answer.as_bytes());
    Ok(())
}

pub(super) fn set_config_epoch(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    let view = &mut engine.cluster_mut()?.view;
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
    engine.cluster_changed();
    ok(reply)
}

pub(super) fn save(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster()?;
    engine.save_cluster().map_err(|error| {
        let why = system_reason(&error);
        CommandError::new(format!("ERR error saving the cluster node config: {why}"))
    })?;
    ok(reply)
}
