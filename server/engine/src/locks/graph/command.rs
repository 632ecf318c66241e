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
use std::sync::Arc;

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

/// The most edges that a reply shows.
const MAX_EDGES: usize = 10_000;
/// The most edges in which cycles are searched for, and the most searches.
const MAX_SEARCHED: usize = 50_000;
const MAX_SEARCHES: usize = 256;

/// The edges between owners.
#[derive(Debug, Default)]
struct Edges {
    /// Edges that are shown, in the order of the names of waiters, locks and holders.
    shown: BTreeSet<Edge>,
    /// Edges to holders that wait themselves: only these are in cycles.
    inner: BTreeSet<Edge>,
    /// At least so many are not shown.
    left_out: usize,
}

impl Edges {
    /// Adds the edges of an owner that waits for a lock. O(log n) for each that there is room for.
    fn add<'h>(
        &mut self,
        (waiter, key, kind): (&[u8], &[u8], &'static str),
        holders: impl ExactSizeIterator<Item = &'h Box<[u8]>>,
        waiting: &BTreeSet<Box<[u8]>>,
    ) {
        let room = MAX_EDGES.saturating_sub(self.shown.len());
        self.left_out += holders.len().saturating_sub(room);
        for holder in holders.take(room).filter(|holder| ***holder != *waiter) {
            let edge = || Edge { waiter: waiter.into(), key: key.into(), holder: holder.clone(), kind };
            if waiting.contains(holder) {
                self.inner.insert(edge());
            }
            self.shown.insert(edge());
        }
    }

    /// Adds edges to holders that wait themselves, also beyond those that are shown.
    fn add_inner(
        &mut self,
        (waiter, key, kind): (&[u8], &[u8], &'static str),
        holders: &BTreeSet<Box<[u8]>>,
    ) {
        let room = MAX_SEARCHED.saturating_sub(self.inner.len());
        for holder in holders.iter().take(room).filter(|holder| ***holder != *waiter) {
            self.inner.insert(Edge { waiter: waiter.into(), key: key.into(), holder: holder.clone(), kind });
        }
    }
}

fn graph(tx: &mut Tx<'_>, pubsub: &PubSub, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (with_dot, with_inferred) = words(args)?;
    let edges = all_edges(tx, pubsub, with_inferred);
    if with_dot {
        reply.bulk(&dot::text(&edges.shown, edges.left_out));
        return Ok(());
    }
    reply.map(3);
    reply.bulk(b"edges");
    reply.array(edges.shown.len());
    for edge in &edges.shown {
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
    reply.bulk(b"left-out");
    reply.integer(i64::try_from(edges.left_out).unwrap_or(i64::MAX));
    let cycles = cycles(&edges.inner);
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

/// The waits for a lock as Redisson waits, by the owners that they are shown with.
fn foreign_waits(
    (tx, pubsub): (&Tx<'_>, &PubSub),
    key: &[u8],
    listeners: &Listeners,
    with_inferred: bool,
) -> BTreeSet<(Box<[u8]>, &'static str)> {
    let mut waits = BTreeSet::new();
    // Clients of one instance share their owners, which are taken in once.
    let mut taken_in = BTreeSet::new();
    let is_wait = |waiter: &ChannelWaiter| listeners.waits(tx.db(), key, waiter);
    for waiter in channel_waiters(pubsub, key).into_iter().filter(is_wait) {
        if let Some(owner) = waiter.owner {
            waits.insert((owner, FOREIGN));
        } else if with_inferred {
            match listeners.owners(tx.db(), key, waiter.client).filter(|owners| !owners.is_empty()) {
                None => {
                    waits.insert((format!("client {}", waiter.client).into_bytes().into(), INFERRED));
                }
                Some(owners) if taken_in.insert(Arc::as_ptr(owners)) => {
                    waits.extend(owners.iter().map(|owner| (owner.clone(), INFERRED)));
                }
                Some(_) => {}
            }
        }
    }
    waits
}

/// All edges, as far as there is room. O(n log n), n the waits, the holders and the edges that there is room for.
fn all_edges(tx: &Tx<'_>, pubsub: &PubSub, with_inferred: bool) -> Edges {
    let native = tx.waited_for();
    let listened = redisson::listened_keys(listened_channels(pubsub));
    let listeners = if listened.is_empty() { Listeners::default() } else { Listeners::of_tx(tx, None) };
    let keys: BTreeSet<Box<[u8]>> = native.into_iter().chain(listened).collect();
    let mut foreign = Vec::new();
    let mut waiting: BTreeSet<Box<[u8]>> = tx.all_labels().map(Box::from).collect();
    for key in keys {
        let waits = foreign_waits((tx, pubsub), &key, &listeners, with_inferred);
        waiting.extend(waits.iter().map(|(owner, _)| owner.clone()));
        foreign.push((key, waits));
    }
    let mut found = Edges::default();
    for (key, foreign) in foreign {
        let holders = edges::holders(tx, &key);
        let inner: BTreeSet<Box<[u8]>> = holders.intersection(&waiting).cloned().collect();
        let labels: BTreeSet<&[u8]> = tx.waiting(&key).map(|waiter| &*waiter.label).collect();
        let waits = |label: &&[u8]| !label.is_empty() && !edges::has(tx, &key, label);
        for label in labels.into_iter().filter(waits) {
            let kept = Wait::of(tx, &key, label).kept(tx, &key, None);
            if kept.by_holders {
                found.add((label, &key, NATIVE), holders.iter(), &waiting);
                found.add_inner((label, &key, NATIVE), &inner);
            }
            if found.shown.len() < MAX_EDGES {
                let ahead = edges::ahead(tx, &key, None, kept.by_those_before);
                found.add((label, &key, NATIVE), ahead.iter(), &waiting);
            } else {
                found.left_out += usize::from(edges::is_behind_several(tx, &key, kept.by_those_before));
            }
        }
        for (owner, kind) in foreign {
            found.add((&owner, &key, kind), holders.iter(), &waiting);
            found.add_inner((&owner, &key, kind), &inner);
        }
    }
    found
}

/// A cycle for each group of owners that wait for each other, the shortest of its first owner's. A search is
/// O(edges log edges); there are only so many.
fn cycles(edges: &BTreeSet<Edge>) -> Vec<Cycle> {
    let mut next: BTreeMap<&[u8], Vec<&Edge>> = BTreeMap::new();
    for edge in edges {
        next.entry(&edge.waiter).or_default().push(edge);
    }
    leave_out_ends(&mut next);
    let mut found: Vec<Cycle> = Vec::new();
    let mut told: BTreeSet<Box<[u8]>> = BTreeSet::new();
    let mut searches = 0;
    for &owner in next.keys() {
        if searches < MAX_SEARCHES && !told.contains(owner) {
            searches += 1;
            if let Some(cycle) = shortest(&next, owner) {
                told.extend(cycle.iter().step_by(2).cloned());
                found.push(cycle);
            }
        }
    }
    found
}

/// Leaves out owners for whom nobody waits, until there are none: they are in no cycle. O(edges log edges).
fn leave_out_ends(next: &mut BTreeMap<&[u8], Vec<&Edge>>) {
    let mut waits: BTreeMap<&[u8], usize> = BTreeMap::new();
    for edge in next.values().flatten() {
        *waits.entry(&edge.holder).or_default() += 1;
    }
    let mut ends: Vec<&[u8]> = next.keys().copied().filter(|owner| !waits.contains_key(owner)).collect();
    while let Some(end) = ends.pop() {
        for edge in next.remove(end).unwrap_or_default() {
            let holder: &[u8] = &edge.holder;
            if let Some(count) = waits.get_mut(holder) {
                *count -= 1;
                if *count == 0 {
                    ends.push(holder);
                }
            }
        }
    }
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
