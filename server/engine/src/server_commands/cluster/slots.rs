//! The assignment of slots: ADDSLOTS, DELSLOTS, SETSLOT, and the keys of a slot.

use super::nodes::known;
use crate::cluster::{
    Cluster, ClusterControl, ClusterOutcome, ClusterReport, ClusterRequest, ClusterView, Node, NodeNumber,
    SLOTS, SlotKeys,
};
use crate::member::TopologyRequest;
use crate::spec::{Args, CommandError, Outcome, quotable};
use lockwheel_resp::{Reply, number};
use std::collections::BTreeSet;

const INVALID_SLOT: CommandError = CommandError::text("ERR Invalid or out of range slot");

pub(super) fn count_keys(report: ClusterReport<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let slot = args.int(2)?;
    let slot = within(slot).ok_or(CommandError::text("ERR Invalid slot"))?;
    reply.integer(report.keys.map_or(0, |keys| keys.of(slot).len()) as i64);
    Ok(())
}

pub(super) fn keys(report: ClusterReport<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (slot, count) = (args.int(2)?, args.int(3)?);
    let wanted = within(slot).zip(usize::try_from(count).ok());
    let (slot, count) = wanted.ok_or(CommandError::text("ERR Invalid slot or number of keys"))?;
    let Some(keys) = report.keys.map(|keys| keys.of(slot)) else {
        reply.array(0);
        return Ok(());
    };
    reply.array(keys.len().min(count));
    keys.iter().take(count).for_each(|key| reply.bulk(key));
    Ok(())
}

fn within(slot: i64) -> Option<u16> {
    u16::try_from(slot).ok().filter(|slot| *slot < SLOTS)
}

/// Parses argument `at` as a slot.
fn slot_at(args: Args<'_>, at: usize) -> Result<u16, CommandError> {
    args.get(at).and_then(number::parse_i64).and_then(within).ok_or(INVALID_SLOT)
}

pub(super) fn add(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    change_each(control.cluster, args, true)
}

pub(super) fn delete(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    change_each(control.cluster, args, false)
}

pub(super) fn add_ranges(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    change_ranges(control.cluster, args, true, "cluster|addslotsrange")
}

pub(super) fn delete_ranges(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    change_ranges(control.cluster, args, false, "cluster|delslotsrange")
}

/// Changes the slots of a request, each as a range of its own. All slots are parsed before any of them is checked.
fn change_each(cluster: &mut Cluster, args: Args<'_>, adds: bool) -> ClusterOutcome {
    let slots = (2..args.len()).map(|at| slot_at(args, at).map(|slot| (slot, slot)));
    let slots = slots.collect::<Result<Vec<_>, _>>()?;
    let mut named = BTreeSet::new();
    slots.iter().try_for_each(|slot| check(cluster.view(), *slot, adds, &mut named))?;
    change(cluster.view_mut(), &slots, adds)
}

fn change_ranges(cluster: &mut Cluster, args: Args<'_>, adds: bool, name: &str) -> ClusterOutcome {
    if args.len() % 2 == 1 {
        return Err(CommandError::arity(name));
    }
    let (mut ranges, mut named) = (Vec::new(), BTreeSet::new());
    for at in (2..args.len()).step_by(2) {
        let (first, last) = (slot_at(args, at)?, slot_at(args, at + 1)?);
        if first > last {
            let text = format!("ERR start slot number {first} is greater than end slot number {last}");
            return Err(CommandError::new(text));
        }
        ranges.push((first, last));
        check(cluster.view(), (first, last), adds, &mut named)?;
    }
    change(cluster.view_mut(), &ranges, adds)
}

/// Checks that each of these slots is free (or assigned, to delete it), and is named only once.
fn check(view: &ClusterView, (first, last): (u16, u16), adds: bool, named: &mut BTreeSet<u16>) -> Outcome {
    for slot in first..=last {
        let text = match view.owner(slot) {
            Some(_) if adds => format!("ERR Slot {slot} is already busy"),
            None if !adds => format!("ERR Slot {slot} is already unassigned"),
            _ if !named.insert(slot) => format!("ERR Slot {slot} specified multiple times"),
            _ => continue,
        };
        return Err(CommandError::new(text));
    }
    Ok(())
}

/// Assigns these slots to this node, or deletes their assignment. The slots have been checked.
fn change(view: &mut ClusterView, ranges: &[(u16, u16)], adds: bool) -> ClusterOutcome {
    let to = adds.then_some(view.my_number());
    for slot in ranges.iter().flat_map(|(first, last)| *first..=*last) {
        view.set_importing(slot, None);
        view.assign(slot, to);
    }
    Ok(ClusterRequest::ViewChanged)
}

pub(super) fn flush(control: &mut ClusterControl<'_>, _: Args<'_>) -> ClusterOutcome {
    if control.keyspace.sizes(0).0 > 0 {
        return Err(CommandError::text("ERR DB must be empty to perform CLUSTER FLUSHSLOTS."));
    }
    let view = control.cluster.view_mut();
    view.take_slots_of(view.my_number());
    Ok(ClusterRequest::ViewChanged)
}

pub(super) fn set_slot(control: &mut ClusterControl<'_>, args: Args<'_>) -> ClusterOutcome {
    control.member.ask(TopologyRequest::SlotsMove);
    let view = control.cluster.view_mut();
    if view.me().is_replica() {
        return Err(CommandError::text("ERR Please use SETSLOT only with masters."));
    }
    let slot = slot_at(args, 2)?;
    let is_mine = view.owner(slot) == Some(view.my_number());
    let with_node = args.len() == 5;
    if args.is(3, "migrating") && with_node {
        if !is_mine {
            return Err(CommandError::new(format!("ERR I'm not the owner of hash slot {slot}")));
        }
        let to = other_end(view, &args[4])?;
        view.set_migrating(slot, Some(to));
    } else if args.is(3, "importing") && with_node {
        if is_mine {
            return Err(CommandError::new(format!("ERR I'm already the owner of hash slot {slot}")));
        }
        let from = other_end(view, &args[4])?;
        view.set_importing(slot, Some(from));
    } else if args.is(3, "stable") && args.len() == 4 {
        view.set_importing(slot, None);
        view.set_migrating(slot, None);
    } else if args.is(3, "node") && with_node {
        let to = master(view, known(view, &args[4])?)?;
        let keys = SlotKeys::in_keyspace(control.keyspace).map_or(0, |keys| keys.of(slot).len());
        let may_replicate = control.config.cluster.allow_replica_migration;
        let has_come = give(view, slot, to, (keys, may_replicate))?;
        // Other nodes must hear of each slot soon, since the epoch changes only for the first of several slots.
        return Ok(if has_come { ClusterRequest::SlotArrived } else { ClusterRequest::ViewChanged });
    } else {
        return Err(CommandError::text(
            "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP",
        ));
    }
    Ok(ClusterRequest::ViewChanged)
}

/// Returns the master with this name, to or from which a slot moves.
fn other_end(view: &ClusterView, id: &[u8]) -> Result<NodeNumber, CommandError> {
    let found = view.find(id);
    let unknown = || CommandError::new([b"ERR I don't know about node ", quotable(id)].concat());
    master(view, found.ok_or_else(unknown)?)
}

fn master(view: &ClusterView, number: NodeNumber) -> Result<NodeNumber, CommandError> {
    let is_replica = view.node(number).is_some_and(Node::is_replica);
    if is_replica { Err(CommandError::text("ERR Target node is not a master")) } else { Ok(number) }
}

/// Ends the move of a slot: SETSLOT NODE. `keys` is the number of keys of the slot here. Returns whether the slot has
/// come to this node. `may_replicate`: a master that loses its last slot becomes a replica.
fn give(
    view: &mut ClusterView,
    slot: u16,
    to: NodeNumber,
    (keys, may_replicate): (usize, bool),
) -> Result<bool, CommandError> {
    let me = view.my_number();
    let was_mine = view.owner(slot) == Some(me);
    if was_mine && to != me && keys > 0 {
        return Err(CommandError::new(format!(
            "ERR Can't assign hashslot {slot} to a different node while I still hold keys for this hash slot."
        )));
    }
    if keys == 0 {
        view.set_migrating(slot, None);
    }
    view.assign(slot, Some(to));
    if was_mine && to != me && view.me().slots == 0 && may_replicate {
        if let Some(owner) = view.node(to) {
            tracing::warn!(
                "Configuration change detected. Reconfiguring myself as a replica of {}",
                owner.id
            );
        }
        view.replicate(to);
    }
    let has_come = to == me && view.importing_from(slot).is_some();
    if has_come {
        if view.bump_epoch() {
            tracing::warn!("New configEpoch set to {}", view.me().config_epoch);
            tracing::warn!("configEpoch updated after importing slot {slot}");
        }
        view.set_importing(slot, None);
    }
    Ok(has_come)
}
