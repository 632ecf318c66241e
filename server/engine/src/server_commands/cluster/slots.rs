//! Whose slots are whose: ADDSLOTS, DELSLOTS, SETSLOT, and what is in one.

use super::nodes::known;
use super::ok;
use crate::cluster::{Gossip, Node, NodeNumber, SLOTS};
use crate::core::{Call, Engine};
use crate::member::TopologyRequest;
use crate::spec::{Args, CommandError, Outcome, quotable};
use lockwheel_resp::{Reply, number};
use std::collections::BTreeSet;

const INVALID_SLOT: CommandError = CommandError::text("ERR Invalid or out of range slot");

pub(super) fn count_keys(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster()?;
    let slot = args.int(2)?;
    let slot = within(slot).ok_or(CommandError::text("ERR Invalid slot"))?;
    reply.integer(engine.keys_in_slot(slot) as i64);
    Ok(())
}

pub(super) fn keys(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster()?;
    let (slot, count) = (args.int(2)?, args.int(3)?);
    let wanted = within(slot).zip(usize::try_from(count).ok());
    let (slot, count) = wanted.ok_or(CommandError::text("ERR Invalid slot or number of keys"))?;
    let Some(keys) = engine.slot_keys().map(|keys| keys.of(slot)) else {
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

/// Argument `at` as a slot.
fn slot_at(args: Args<'_>, at: usize) -> Result<u16, CommandError> {
    args.get(at).and_then(number::parse_i64).and_then(within).ok_or(INVALID_SLOT)
}

pub(super) fn add(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    change_each(engine, args, true)?;
    ok(reply)
}

pub(super) fn delete(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    change_each(engine, args, false)?;
    ok(reply)
}

pub(super) fn add_ranges(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    change_ranges(engine, args, true, "cluster|addslotsrange")?;
    ok(reply)
}

pub(super) fn delete_ranges(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    change_ranges(engine, args, false, "cluster|delslotsrange")?;
    ok(reply)
}

/// The slots of a request, each as a range of its own. That one is no slot is told before that another is taken.
fn change_each(engine: &mut Engine, args: Args<'_>, adds: bool) -> Outcome {
    engine.cluster()?;
    let slots = (2..args.len()).map(|at| slot_at(args, at).map(|slot| (slot, slot)));
    let slots = slots.collect::<Result<Vec<_>, _>>()?;
    let mut named = BTreeSet::new();
    slots.iter().try_for_each(|slot| check(engine, *slot, adds, &mut named))?;
    change(engine, &slots, adds)
}

fn change_ranges(engine: &mut Engine, args: Args<'_>, adds: bool, name: &str) -> Outcome {
    engine.cluster()?;
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
        check(engine, (first, last), adds, &mut named)?;
    }
    change(engine, &ranges, adds)
}

/// Whether each of these slots is free, or is not, and has not been named before.
fn check(engine: &Engine, (first, last): (u16, u16), adds: bool, named: &mut BTreeSet<u16>) -> Outcome {
    let view = &engine.cluster()?.view;
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

/// Each of these slots is free, or is not, and is named once.
fn change(engine: &mut Engine, ranges: &[(u16, u16)], adds: bool) -> Outcome {
    let view = &mut engine.cluster_mut()?.view;
    let to = adds.then_some(view.my_number());
    for slot in ranges.iter().flat_map(|(first, last)| *first..=*last) {
        view.set_importing(slot, None);
        view.assign(slot, to);
    }
    engine.cluster_changed();
    Ok(())
}

pub(super) fn flush(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster()?;
    if engine.keyspace.sizes(0).0 > 0 {
        return Err(CommandError::text("ERR DB must be empty to perform CLUSTER FLUSHSLOTS."));
    }
    let view = &mut engine.cluster_mut()?.view;
    view.take_slots_of(view.my_number());
    engine.cluster_changed();
    ok(reply)
}

pub(super) fn set_slot(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster()?;
    engine.member_mut().ask(TopologyRequest::SlotsMove);
    let view = &engine.cluster()?.view;
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
        let to = other_end(engine, &args[4])?;
        engine.cluster_mut()?.view.set_migrating(slot, Some(to));
    } else if args.is(3, "importing") && with_node {
        if is_mine {
            return Err(CommandError::new(format!("ERR I'm already the owner of hash slot {slot}")));
        }
        let from = other_end(engine, &args[4])?;
        engine.cluster_mut()?.view.set_importing(slot, Some(from));
    } else if args.is(3, "stable") && args.len() == 4 {
        let view = &mut engine.cluster_mut()?.view;
        view.set_importing(slot, None);
        view.set_migrating(slot, None);
    } else if args.is(3, "node") && with_node {
        let to = master(engine, known(view, &args[4])?)?;
        let has_come = give(engine, slot, to)?;
        engine.cluster_changed();
        // The others hear of each slot as soon as possible: of the next ones the epoch tells nothing new.
        if has_come {
            engine.with_gossip(Gossip::tell_all);
        }
        return ok(reply);
    } else {
        return Err(CommandError::text(
            "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP",
        ));
    }
    engine.cluster_changed();
    ok(reply)
}

/// The master of this name, to or from which a slot moves.
fn other_end(engine: &Engine, id: &[u8]) -> Result<NodeNumber, CommandError> {
    let found = engine.cluster()?.view.find(id);
    let unknown = || CommandError::new([b"ERR I don't know about node ", quotable(id)].concat());
    master(engine, found.ok_or_else(unknown)?)
}

fn master(engine: &Engine, number: NodeNumber) -> Result<NodeNumber, CommandError> {
    let is_replica = engine.cluster()?.view.node(number).is_some_and(Node::is_replica);
    if is_replica { Err(CommandError::text("ERR Target node is not a master")) } else { Ok(number) }
}

/// SETSLOT NODE: a move has ended. Whether it was one to this node.
fn give(engine: &mut Engine, slot: u16, to: NodeNumber) -> Result<bool, CommandError> {
    let keys = engine.keys_in_slot(slot);
    let may_replicate = engine.config.cluster.allow_replica_migration;
    let view = &mut engine.cluster_mut()?.view;
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
