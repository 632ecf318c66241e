//! The cycles in a graph of waits.
//!
//! Owners that wait for each other, directly or through others, form a group. Only such groups are searched for cycles.
//! Holders and waiters are grouped by lock, so the work is linear in the size of the graph.

use super::room::Room;
use super::search::Cycle;
use super::wait_graph::{LockWait, LockWaits};
use std::collections::BTreeMap;

const MAX_SEARCHES: usize = 256;

/// Returns one cycle for each group of owners that wait for each other: the shortest cycle of its first owner. Cycles
/// that do not fit are left out. O(n log n), n the holders and the waiters; a search is O(n).
pub(super) fn find(locks: &[LockWaits], room: &mut Room) -> Vec<Cycle> {
    let graph = Graph::new(locks);
    let groups = graph.groups();
    let mut sizes = vec![0_usize; graph.nodes()];
    groups[..graph.owners.len()].iter().for_each(|group| sizes[*group] += 1);
    let mut is_told = vec![false; graph.owners.len()];
    let mut found: Vec<Cycle> = Vec::new();
    let mut searches = 0;
    for owner in 0..graph.owners.len() {
        if searches < MAX_SEARCHES && !is_told[owner] && sizes[groups[owner]] > 1 {
            searches += 1;
            if let Some(cycle) = graph.shortest(owner, &groups) {
                cycle.iter().for_each(|(waiter, _)| is_told[*waiter] = true);
                let names = graph.names(&cycle);
                if room.take(&names, &[]) {
                    found.push(names.into_iter().map(Box::from).collect());
                } else {
                    room.leave_out(names.len());
                }
            }
        }
    }
    found
}

type NumberedCycle = Vec<(usize, usize)>;

/// One lock of a graph. Owners that do not wait are in no cycle and are left out.
struct Lock<'g> {
    key: &'g [u8],
    holders: Vec<usize>,
    /// The owners that stand ahead, in order.
    ahead: Vec<Option<usize>>,
    /// The number of the first of its nodes.
    node: usize,
}

/// A graph of waits, by numbers.
struct Graph<'g> {
    /// The owners that wait, in the order of their names.
    owners: Vec<&'g [u8]>,
    locks: Vec<Lock<'g>>,
    /// The waits of each owner, with their locks.
    waits: Vec<Vec<(usize, &'g LockWait)>>,
}

impl<'g> Graph<'g> {
    /// Builds the graph of these waits. O(n log n).
    fn new(waits_for: &'g [LockWaits]) -> Self {
        let all = waits_for.iter().flat_map(|lock| &lock.waiters);
        let mut numbers: BTreeMap<&[u8], usize> = all.map(|waiter| (&*waiter.owner, 0)).collect();
        numbers.values_mut().enumerate().for_each(|(at, number)| *number = at);
        let owners: Vec<&[u8]> = numbers.keys().copied().collect();
        let number = |owner: &[u8]| numbers.get(owner).copied();
        let mut waits = vec![Vec::new(); owners.len()];
        let mut node = owners.len();
        let locks = waits_for.iter().enumerate().map(|(at, lock)| {
            for waiter in &lock.waiters {
                waits[numbers[&*waiter.owner]].push((at, waiter));
            }
            let first = node;
            node += 1 + lock.ahead.len();
            let holders = lock.holders.iter().filter_map(|owner| number(owner)).collect();
            let ahead = lock.ahead.iter().map(|owner| number(owner)).collect();
            Lock { key: &lock.key, holders, ahead, node: first }
        });
        Graph { locks: locks.collect(), owners, waits }
    }

    /// Returns the number of nodes: one for each owner, one for the holders of each lock, and one for each place in the
    /// queue. The node of a place stands for that place and all before it.
    fn nodes(&self) -> usize {
        self.locks.last().map_or(self.owners.len(), |lock| lock.node + 1 + lock.ahead.len())
    }

    /// Returns the nodes that each node leads to.
    fn next(&self) -> Vec<Vec<usize>> {
        let mut next = vec![Vec::new(); self.nodes()];
        for (owner, waits) in self.waits.iter().enumerate() {
            for (lock, wait) in waits {
                let node = self.locks[*lock].node;
                next[owner].extend((wait.holders > 0).then_some(node));
                next[owner].extend((wait.ahead > 0).then_some(node + wait.ahead));
            }
        }
        for lock in &self.locks {
            next[lock.node].extend_from_slice(&lock.holders);
            for (at, owner) in lock.ahead.iter().enumerate() {
                let node = lock.node + 1 + at;
                next[node].extend(*owner);
                next[node].extend((at > 0).then_some(node - 1));
            }
        }
        next
    }

    /// Returns the group of each node. Nodes that lead to each other are in one group. This is Tarjan's algorithm,
    /// without recursion since clients decide the depth. O(n).
    fn groups(&self) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let next = self.next();
        let mut groups = vec![NONE; next.len()];
        let (mut order, mut lowest) = (vec![NONE; next.len()], vec![NONE; next.len()]);
        let (mut open, mut path, mut count) = (Vec::new(), Vec::new(), 0);
        for root in 0..next.len() {
            if order[root] == NONE {
                path.push((root, 0));
            }
            while let Some((node, at)) = path.pop() {
                if at == 0 {
                    (order[node], lowest[node]) = (count, count);
                    count += 1;
                    open.push(node);
                } else {
                    lowest[node] = lowest[node].min(lowest[next[node][at - 1]]);
                }
                let unseen = |to: &usize| {
                    if order[*to] == NONE {
                        return true;
                    }
                    if groups[*to] == NONE {
                        lowest[node] = lowest[node].min(order[*to]);
                    }
                    false
                };
                if let Some(offset) = next[node][at..].iter().position(unseen) {
                    path.push((node, at + offset + 1));
                    path.push((next[node][at + offset], 0));
                } else if lowest[node] == order[node] {
                    while let Some(member) = open.pop() {
                        groups[member] = node;
                        if member == node {
                            break;
                        }
                    }
                }
            }
        }
        groups
    }

    /// Returns the shortest cycle that an owner is in, starting at its own wait. O(n).
    fn shortest(&self, owner: usize, groups: &[usize]) -> Option<NumberedCycle> {
        let is_held: Vec<bool> = self.locks.iter().map(|lock| lock.holders.contains(&owner)).collect();
        let place = |lock: &Lock<'_>| lock.ahead.iter().position(|ahead| *ahead == Some(owner));
        let places: Vec<Option<usize>> = self.locks.iter().map(place).collect();
        let leads_back = |(lock, wait): (usize, &LockWait)| {
            (wait.holders > 0 && is_held[lock]) || places[lock].is_some_and(|place| place < wait.ahead)
        };
        let mut came_by: Vec<Option<(usize, usize)>> = vec![None; self.owners.len()];
        let mut walked = vec![Walked::default(); self.locks.len()];
        let mut reached = vec![owner];
        let mut at = 0;
        while let Some(&from) = reached.get(at) {
            for &(lock, wait) in &self.waits[from] {
                if from != owner && leads_back((lock, wait)) {
                    return Some(way(&came_by, owner, (from, lock)));
                }
                for to in walked[lock].more(&self.locks[lock], wait) {
                    if to != owner && came_by[to].is_none() && groups[to] == groups[owner] {
                        came_by[to] = Some((from, lock));
                        reached.push(to);
                    }
                }
            }
            at += 1;
        }
        None
    }

    fn names(&self, cycle: &NumberedCycle) -> Vec<&'g [u8]> {
        let steps = cycle.iter().flat_map(|(owner, lock)| [self.owners[*owner], self.locks[*lock].key]);
        let first = cycle.iter().take(1).map(|(owner, _)| self.owners[*owner]);
        steps.chain(first).collect()
    }
}

/// The part of a lock that a search has walked.
#[derive(Clone, Debug, Default)]
struct Walked {
    holders: bool,
    ahead: usize,
}

impl Walked {
    /// Returns the nodes to which a wait leads, except those to which an earlier wait has led.
    fn more<'l>(&mut self, lock: &'l Lock<'_>, wait: &LockWait) -> impl Iterator<Item = usize> + use<'l> {
        let adds_holders = wait.holders > 0 && !std::mem::replace(&mut self.holders, true);
        let holders = if adds_holders { &lock.holders[..] } else { &[] };
        let from = self.ahead;
        self.ahead = from.max(wait.ahead);
        let ahead = lock.ahead.get(from..wait.ahead).unwrap_or_default();
        holders.iter().copied().chain(ahead.iter().copied().flatten())
    }
}

/// Returns the path from an owner back to itself that ends with the wait `last`.
fn way(came_by: &[Option<(usize, usize)>], owner: usize, last: (usize, usize)) -> NumberedCycle {
    let mut way = vec![last];
    let mut to = last.0;
    while to != owner
        && let Some(wait) = came_by[to]
    {
        way.push(wait);
        to = wait.0;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn name(owner: u8) -> Box<[u8]> {
        Box::from([b'a' + owner])
    }

    /// Returns a lock. A waiter: its owner, whether it waits for the holders, and how many owners ahead it waits for.
    fn lock(
        key: usize,
        holders: &BTreeSet<u8>,
        ahead: &BTreeSet<u8>,
        waiters: &[(u8, bool, usize)],
    ) -> LockWaits {
        let waiters = waiters.iter().map(|&(owner, by_holders, before)| {
            let holders = if by_holders { holders.len() - usize::from(holders.contains(&owner)) } else { 0 };
            let own = ahead.iter().position(|ahead| *ahead == owner).unwrap_or(ahead.len());
            LockWait { owner: name(owner), kind: "native", holders, ahead: before.min(own) }
        });
        LockWaits {
            key: key.to_string().into_bytes().into(),
            holders: holders.iter().copied().map(name).collect(),
            ahead: ahead.iter().copied().map(name).collect(),
            waiters: waiters.collect(),
        }
    }

    type Pairs = BTreeSet<(Box<[u8]>, Box<[u8]>, Box<[u8]>)>;

    fn edges(locks: &[LockWaits]) -> Pairs {
        let mut edges = BTreeSet::new();
        for lock in locks {
            for waiter in &lock.waiters {
                let holders = lock.holders.iter().filter(|_| waiter.holders > 0);
                for to in holders.chain(&lock.ahead[..waiter.ahead]).filter(|to| **to != waiter.owner) {
                    edges.insert((waiter.owner.clone(), lock.key.clone(), to.clone()));
                }
            }
        }
        edges
    }

    fn shortest(edges: &Pairs, owner: &[u8]) -> Option<usize> {
        let mut reached: BTreeSet<&[u8]> = BTreeSet::from([owner]);
        for length in 1..=edges.len() {
            let next = edges.iter().filter(|(waiter, _, _)| reached.contains(&**waiter));
            let next: BTreeSet<&[u8]> = next.map(|(_, _, to)| &**to).collect();
            if next.contains(owner) {
                return Some(length);
            }
            reached.extend(next);
        }
        None
    }

    type Locks = Vec<(BTreeSet<u8>, BTreeSet<u8>, Vec<(u8, bool, usize)>)>;

    fn some_locks() -> impl Strategy<Value = Locks> {
        let owners = || prop::collection::btree_set(0_u8..7, 0..4);
        let waiters = prop::collection::vec((0_u8..7, any::<bool>(), 0_usize..4), 0..4);
        prop::collection::vec((owners(), owners(), waiters), 1..6)
    }

    proptest! {
        /// Each owner in a cycle is in a found cycle, or in a group with one. Each found cycle is real, and the
        /// shortest of its first owner.
        #[test]
        fn the_cycles_equal_those_of_a_naive_search(locks in some_locks()) {
            let locks: Vec<LockWaits> = locks.iter().enumerate()
                .map(|(key, (holders, ahead, waiters))| lock(key, holders, ahead, waiters)).collect();
            let edges = edges(&locks);
            let found = find(&locks, &mut Room::new(<[u8]>::len));
            let told: BTreeSet<&Box<[u8]>> = found.iter().flat_map(|cycle| cycle.iter().step_by(2)).collect();
            for cycle in &found {
                for step in cycle.windows(3).step_by(2) {
                    prop_assert!(edges.contains(&(step[0].clone(), step[1].clone(), step[2].clone())));
                }
                prop_assert_eq!(Some(cycle.len() / 2), shortest(&edges, &cycle[0]));
            }
            for owner in (0..7).map(name) {
                prop_assert_eq!(told.contains(&owner), shortest(&edges, &owner).is_some());
            }
        }
    }
}
