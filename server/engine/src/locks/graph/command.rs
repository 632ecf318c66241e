//! `LOCK.GRAPH`: who waits for whom, and the cycles among them.

use super::super::channel_waiters::{ChannelWaiter, channel_waiters, listened_channels};
use super::super::listening::ListeningHandler;
use super::super::redisson;
use super::dot;
use super::edges::{self, Edge, Wait};
use super::listeners::Listeners;
use super::search::{self, Cycle};
use crate::keyspace::Tx;
use crate::pubsub::PubSub;
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;
use std::collections::{BTreeMap, BTreeSet};

/// The rows of the command that sees subscriptions too.
pub(in crate::locks) const LISTENING_ROWS: &[Row<ListeningHandler>] =
    &[Row::new("lock.graph", -1, graph as ListeningHandler)
        .flags(&[Flags::READONLY])
        .categories(&["lock"])
        .about("lock", "7.2.0", "O(N log N), N the waits of one owner for another, the waiters and the channels")
        .summary("Tells which owners wait for which holders, and the cycles among them.")
        .help(&[
            "LOCK.GRAPH [DOT] [INFERRED]",
            "    Which owners wait for which holders in this database, and the cycles among them; as text for Graphviz",
            "    with DOT. INFERRED: also who waits by Redisson's channels, by its last refused script in the history,",
            "    or as a client.",
        ])
        .help_after("lock.info")
        .syntax("[DOT] [INFERRED]")
        .errors(&["ERR syntax error: *"])];

/// How it is known that somebody waits: by a request of its own, by a channel that names it, or by one that does not.
const NATIVE: &str = "native";
const FOREIGN: &str = "foreign";
const INFERRED: &str = "inferred";

fn graph(tx: &mut Tx<'_>, pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (with_dot, with_inferred) = words(args)?;
    let edges = all_edges(tx, pubsub, with_inferred);
    if with_dot {
        reply.bulk(&dot::text(&edges));
        return Ok(());
    }
    reply.map(2);
    reply.bulk(b"edges");
    reply.array(edges.len());
    for edge in &edges {
        reply.map(4);
        let fields: [(&str, &[u8]); 4] = [
            ("waiter", &edge.waiter),
            ("key", &edge.key),
            ("holder", &edge.holder),
            ("kind", edge.kind.as_bytes()),
        ];
        for (name, value) in fields {
            reply.bulk(name.as_bytes());
            reply.bulk(value);
        }
    }
    let cycles = cycles(&edges);
    reply.bulk(b"cycles");
    reply.array(cycles.len());
    cycles.iter().for_each(|cycle| reply.bulk(&search::text(cycle)));
    Ok(())
}

fn words(args: Args<'_>) -> Result<(bool, bool), CommandError> {
    let (mut with_dot, mut with_inferred) = (false, false);
    for at in 1..args.len() {
        let word = if args.is(at, "dot") { &mut with_dot } else { &mut with_inferred };
        let is_known = args.is(at, "dot") || args.is(at, "inferred");
        if !is_known || std::mem::replace(word, true) {
            return Err(errors::SYNTAX);
        }
    }
    Ok((with_dot, with_inferred))
}

/// All edges, in the order of the names of waiters, locks and holders.
fn all_edges(tx: &Tx<'_>, pubsub: &PubSub, with_inferred: bool) -> Vec<Edge> {
    let mut found = BTreeSet::new();
    let native = tx.waited_for();
    let listened = redisson::listened_keys(listened_channels(pubsub));
    let listeners = if listened.is_empty() { Listeners::default() } else { Listeners::of_tx(tx, None) };
    let keys: BTreeSet<Box<[u8]>> = native.into_iter().chain(listened).collect();
    for key in keys {
        let holders = edges::holders(tx, &key);
        let mut add = |waiter: &[u8], before: &BTreeSet<Box<[u8]>>, kind| {
            for holder in before.iter().filter(|holder| ***holder != *waiter) {
                found.insert(Edge { waiter: waiter.into(), key: key.clone(), holder: holder.clone(), kind });
            }
        };
        let waits = |label: &[u8]| !label.is_empty() && !edges::has(tx, &key, label);
        for waiter in tx.waiting(&key).filter(|waiter| waits(&waiter.label)) {
            let kept = Wait::of(tx, &key, &waiter.label).kept(tx, &key, None);
            let mut before = if kept.by_holders { holders.clone() } else { BTreeSet::new() };
            before.append(&mut edges::ahead(tx, &key, None, kept.by_those_before));
            add(&waiter.label, &before, NATIVE);
        }
        let waits = |waiter: &ChannelWaiter| listeners.waits(tx.db(), &key, waiter);
        for waiter in channel_waiters(pubsub, &key).into_iter().filter(waits) {
            match waiter.owner {
                Some(owner) => add(&owner, &holders, FOREIGN),
                None if with_inferred => {
                    let mut owners = listeners.owners(tx.db(), &key, waiter.client).peekable();
                    if owners.peek().is_none() {
                        add(format!("client {}", waiter.client).as_bytes(), &holders, INFERRED);
                    }
                    owners.for_each(|owner| add(owner, &holders, INFERRED));
                }
                None => {}
            }
        }
    }
    found.into_iter().collect()
}

/// A cycle for each group of owners that wait for each other, the shortest of its first owner's.
fn cycles(edges: &[Edge]) -> Vec<Cycle> {
    let mut next: BTreeMap<&[u8], Vec<&Edge>> = BTreeMap::new();
    for edge in edges {
        next.entry(&edge.waiter).or_default().push(edge);
    }
    let mut found: Vec<Cycle> = Vec::new();
    for &owner in next.keys() {
        let is_told = found.iter().any(|cycle| cycle.iter().step_by(2).any(|name| **name == *owner));
        if !is_told {
            found.extend(shortest(&next, owner));
        }
    }
    found
}

/// The shortest way from an owner to itself. O(edges log edges).
fn shortest(next: &BTreeMap<&[u8], Vec<&Edge>>, owner: &[u8]) -> Option<Cycle> {
    let mut came_by: BTreeMap<&[u8], &Edge> = BTreeMap::new();
    let mut reached = vec![owner];
    let mut at = 0;
    while let Some(&from) = reached.get(at) {
        for &edge in next.get(from).into_iter().flatten() {
            if came_by.contains_key(&*edge.holder) {
                continue;
            }
            came_by.insert(&edge.holder, edge);
            if *edge.holder == *owner {
                return Some(way(&came_by, owner));
            }
            reached.push(&edge.holder);
        }
        at += 1;
    }
    None
}

fn way(came_by: &BTreeMap<&[u8], &Edge>, owner: &[u8]) -> Cycle {
    let mut way: Cycle = vec![owner.into()];
    let mut to = owner;
    while let Some(edge) = came_by.get(to) {
        way.push(edge.key.clone());
        way.push(edge.waiter.clone());
        to = &edge.waiter;
        if to == owner {
            break;
        }
    }
    way.reverse();
    way
}
