//! The state of the cluster as a node reports it: INFO, NODES, SLOTS, SHARDS and related subcommands.

use super::nodes::known;
use crate::cluster::{
    ClusterReport, ClusterState, LinkInfo, Node, NodeNumber, Reader, Tally, by_kind, ranges, slot_of,
};
use crate::config::{Config, EndpointType};
use crate::spec::{Args, CommandError, Outcome, help};
use lockwheel_resp::Reply;
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) fn help(report: ClusterReport<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if let Some(container) = report.commands.find(&args[0]) {
        help::write_container(container, reply);
    }
    Ok(())
}

pub(super) fn info(report: ClusterReport<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cluster = report.cluster;
    let (view, counts) = (cluster.view(), cluster.gossip().counts);
    let health = view.health();
    let me = view.me();
    let master = me.master.and_then(|master| view.node(master));
    let epoch = master.filter(|_| me.is_replica()).unwrap_or(me).config_epoch;
    let state = if view.state() == ClusterState::Ok { "ok" } else { "fail" };
    let mut text = format!("cluster_state:{state}\r\n");
    for (name, value) in [
        ("cluster_slots_assigned", health.assigned as u64),
        ("cluster_slots_ok", health.ok as u64),
        ("cluster_slots_pfail", health.may_have_failed as u64),
        ("cluster_slots_fail", health.failed as u64),
        ("cluster_known_nodes", view.nodes().len() as u64),
        ("cluster_size", health.size as u64),
        ("cluster_current_epoch", view.current_epoch),
        ("cluster_my_epoch", epoch),
    ] {
        let _ = write!(text, "{name}:{value}\r\n");
    }
    write_messages(&mut text, "sent", &counts.sent);
    write_messages(&mut text, "received", &counts.received);
    text.push_str("total_cluster_links_buffer_limit_exceeded:0\r\n");
    reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

/// Writes the number of messages of each kind, and their sum.
fn write_messages(text: &mut String, what: &str, tally: &Tally) {
    for (kind, count) in by_kind(tally) {
        let _ = write!(text, "cluster_stats_messages_{kind}_{what}:{count}\r\n");
    }
    let _ = write!(text, "cluster_stats_messages_{what}:{}\r\n", tally.iter().sum::<u64>());
}

pub(super) fn nodes(report: ClusterReport<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let tls = report.config.is_tls_only();
    let lines = report.cluster.view().describe(Reader::Client { tls }, |_, _| true);
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

pub(super) fn replicas(report: ClusterReport<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let tls = report.config.is_tls_only();
    let view = report.cluster.view();
    let of = known(view, &args[2])?;
    if view.node(of).is_some_and(Node::is_replica) {
        return Err(CommandError::text("ERR The specified node is not a master"));
    }
    let is_one = |_: NodeNumber, node: &Node| node.is_replica() && node.master == Some(of);
    let lines = view.describe(Reader::Client { tls }, is_one);
    reply.array(lines.len());
    lines.iter().for_each(|line| reply.bulk(line.as_bytes()));
    Ok(())
}

pub(super) fn my_id(report: ClusterReport<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.bulk(report.cluster.view().me().id.as_bytes());
    Ok(())
}

pub(super) fn my_shard_id(report: ClusterReport<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let view = report.cluster.view();
    let first = view.me().master.and_then(|master| view.node(master)).unwrap_or(view.me());
    match view.me().shard_id().or(first.shard_id()) {
        Some(shard) => reply.bulk(shard.as_bytes()),
        None => reply.bulk(first.id.as_bytes()),
    }
    Ok(())
}

pub(super) fn slots(report: ClusterReport<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let view = report.cluster.view();
    let ranges = ranges(view);
    reply.array(ranges.len());
    for (first, last, owner) in ranges {
        let Some(master) = view.node(owner) else { continue };
        let replicas: Vec<&Node> =
            view.replicas_of(owner).map(|(_, node)| node).filter(|node| node.is_available()).collect();
        reply.array(3 + replicas.len());
        reply.integer(first.into());
        reply.integer(last.into());
        [master].into_iter().chain(replicas).for_each(|node| address(report.config, node, reply));
    }
    Ok(())
}

/// Writes the entry of a node in SLOTS: its endpoint, its name, and its other addresses.
fn address(config: &Config, node: &Node, reply: &mut dyn Reply) {
    let preferred = config.cluster.preferred_endpoint_type;
    reply.array(4);
    match preferred {
        EndpointType::Ip => reply.bulk(node.ip.as_bytes()),
        EndpointType::Hostname if node.hostname.is_empty() => reply.bulk(b"?"),
        EndpointType::Hostname => reply.bulk(node.hostname.as_bytes()),
        EndpointType::UnknownEndpoint => reply.null(),
    }
    reply.integer(node.client_port(config.is_tls_only()).into());
    reply.bulk(node.id.as_bytes());
    let ip = Some(("ip", &node.ip)).filter(|_| preferred != EndpointType::Ip);
    let shows_hostname = preferred != EndpointType::Hostname && !node.hostname.is_empty();
    let hostname = Some(("hostname", &node.hostname)).filter(|_| shows_hostname);
    reply.map(usize::from(ip.is_some()) + usize::from(hostname.is_some()));
    for (name, value) in [ip, hostname].into_iter().flatten() {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
}

pub(super) fn shards(report: ClusterReport<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let view = report.cluster.view();
    let mut slots: BTreeMap<NodeNumber, Vec<u16>> = BTreeMap::new();
    for (first, last, owner) in ranges(view) {
        slots.entry(owner).or_default().extend([first, last]);
    }
    let masters: Vec<(NodeNumber, &Node)> = view.nodes().filter(|(_, node)| !node.is_replica()).collect();
    reply.array(masters.len());
    for (number, master) in masters {
        reply.map(2);
        reply.bulk(b"slots");
        let slots = slots.get(&number).map_or(&[][..], Vec::as_slice);
        reply.array(slots.len());
        slots.iter().for_each(|slot| reply.integer((*slot).into()));
        reply.bulk(b"nodes");
        let replicas: Vec<_> = view.replicas_of(number).collect();
        reply.array(1 + replicas.len());
        for (number, node) in [(number, master)].into_iter().chain(replicas) {
            let offset = match number == view.my_number() {
                true => report.offset,
                false => node.replication_offset.unwrap_or(0),
            };
            details(report.config, node, offset, reply);
        }
    }
    Ok(())
}

/// Writes the entry of a node in SHARDS.
fn details(config: &Config, node: &Node, offset: u64, reply: &mut dyn Reply) {
    let endpoint = match config.cluster.preferred_endpoint_type {
        EndpointType::Ip => node.ip.as_str(),
        EndpointType::Hostname if node.hostname.is_empty() => "?",
        EndpointType::Hostname => &node.hostname,
        EndpointType::UnknownEndpoint => "",
    };
    let ports = [("port", node.port), ("tls-port", node.tls_port)];
    let ports = ports.into_iter().filter(|(_, port)| *port != 0);
    let has_hostname = !node.hostname.is_empty();
    reply.map(6 + ports.clone().count() + usize::from(has_hostname));
    field(reply, "id", node.id.as_bytes());
    for (name, port) in ports {
        reply.bulk(name.as_bytes());
        reply.integer(port.into());
    }
    field(reply, "ip", node.ip.as_bytes());
    field(reply, "endpoint", endpoint.as_bytes());
    if has_hostname {
        field(reply, "hostname", node.hostname.as_bytes());
    }
    field(reply, "role", if node.is_replica() { b"replica" } else { b"master" });
    reply.bulk(b"replication-offset");
    reply.integer(offset as i64);
    let is_loading = node.is_replica() && !node.is_available();
    let health: &[u8] = match node.has_failed() {
        true => b"fail",
        false if is_loading => b"loading",
        false => b"online",
    };
    field(reply, "health", health);
}

fn field(reply: &mut dyn Reply, name: &str, value: &[u8]) {
    reply.bulk(name.as_bytes());
    reply.bulk(value);
}

pub(super) fn links(report: ClusterReport<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wall_ms = report.now.wall_ms();
    let cluster = report.cluster;
    let links: Vec<(LinkInfo, &Node)> = cluster
        .gossip()
        .link_infos()
        .into_iter()
        .filter_map(|link| Some((link, cluster.view().node(link.node)?)))
        .collect();
    reply.array(links.len());
    for (link, node) in links {
        reply.map(6);
        field(reply, "direction", if link.is_to { b"to" } else { b"from" });
        field(reply, "node", node.id.as_bytes());
        reply.bulk(b"create-time");
        reply.integer(wall_ms - link.age_ms);
        field(reply, "events", if link.unanswered > 0 { b"rw" } else { b"r" });
        for name in ["send-buffer-allocated", "send-buffer-used"] {
            reply.bulk(name.as_bytes());
            reply.integer(link.unanswered as i64);
        }
    }
    Ok(())
}

pub(super) fn key_slot(_: ClusterReport<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(slot_of(&args[2]).into());
    Ok(())
}
