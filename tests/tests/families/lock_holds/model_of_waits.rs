//! A model of plain locks of several keys: holders, the order of service, and the graph of waits.

use std::collections::{BTreeMap, BTreeSet};

/// A request of an owner.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) owner: &'static str,
    pub(super) keys: Vec<&'static str>,
    /// Whether all locks are requested together. `false` means a single lock.
    pub(super) together: bool,
    pub(super) lease_ms: i64,
    pub(super) priority: i64,
}

/// A waiter.
#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    request: Request,
    since_ms: i64,
    ends_ms: i64,
    /// The sequence number of the wait among all deadlines.
    made: u64,
}

/// The hold of a lock.
#[derive(Clone, Debug)]
struct Hold {
    owner: &'static str,
    count: i64,
    /// The end of the lease, and the sequence number of that deadline.
    ends: (i64, u64),
}

/// One owner's wait for another: the waiter, the lock, the other owner.
pub(super) type Edge = (&'static str, &'static str, &'static str);

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted(String),
    Waits,
    /// The length of the shortest cycle that the request would close.
    Deadlock(usize),
    Nothing,
}

/// The locks, and the waiters.
#[derive(Debug, Default)]
pub(super) struct Model {
    now_ms: i64,
    made: u64,
    locks: BTreeMap<&'static str, Hold>,
    /// The waiters in the order in which they are served, on every key.
    queue: Vec<Waiter>,
    /// The owners that have come to hold a lock, or have lost one, since their waits were last checked.
    changed: Vec<&'static str>,
    /// The replies to each client that it has not read yet.
    pub(super) told: BTreeMap<usize, String>,
}

impl Model {
    fn make(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    pub(super) fn is_waiting(&self, client: usize) -> bool {
        self.queue.iter().any(|waiter| waiter.client == client)
    }

    pub(super) fn owner_waits(&self, owner: &str) -> bool {
        self.queue.iter().any(|waiter| waiter.request.owner == owner)
    }

    fn holder(&self, key: &str) -> Option<&'static str> {
        self.locks.get(key).map(|hold| hold.owner)
    }

    /// The positions of a lock's waiters in the queue.
    fn line<'a>(&'a self, key: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.queue.iter().enumerate().filter(move |(_, w)| w.request.keys.contains(&key)).map(|(at, _)| at)
    }

    /// Whether a lock is available to a newcomer, or to the waiter at this position.
    fn can_have(&self, key: &str, request: &Request, place: Option<usize>) -> bool {
        if let Some(holder) = self.holder(key) {
            return holder == request.owner;
        }
        match place {
            Some(place) => self.line(key).next() == Some(place),
            None => self
                .line(key)
                .next()
                .is_none_or(|first| self.queue[first].request.priority < request.priority),
        }
    }

    /// Grants the whole request, if all its locks are available.
    fn attempt(&mut self, request: &Request, place: Option<usize>, waited_ms: i64) -> Option<String> {
        if !request.keys.iter().all(|key| self.can_have(key, request, place)) {
            return None;
        }
        let mut holds = Vec::new();
        for &key in &request.keys {
            let ends = (self.now_ms + request.lease_ms, self.make());
            let hold = self.locks.entry(key).or_insert(Hold { owner: request.owner, count: 0, ends });
            if hold.count == 0 {
                self.changed.push(request.owner);
            }
            (hold.count, hold.ends) = (hold.count + 1, ends);
            holds.push(hold.count);
        }
        Some(match request.together {
            true => format!("granted {} waited {waited_ms}", holds.len()),
            false => format!("granted holds {} for {} waited {waited_ms}", holds[0], request.lease_ms),
        })
    }

    /// Handles a request of a client that is not waiting. It waits at most this long if it must, or not at all.
    pub(super) fn ask(&mut self, client: usize, request: Request, wait_ms: Option<i64>) -> Answer {
        if let Some(told) = self.attempt(&request, None, 0) {
            self.serve();
            return Answer::Granted(told);
        }
        let Some(wait_ms) = wait_ms else { return Answer::Nothing };
        let (before, owner) = (self.queue.clone(), request.owner);
        let (since_ms, ends_ms, made) = (self.now_ms, self.now_ms + wait_ms, self.make());
        self.queue.push(Waiter { client, request, since_ms, ends_ms, made });
        self.queue.sort_by_key(|waiter| (-waiter.request.priority, waiter.made));
        let Some(steps) = self.shortest_cycle(owner) else { return Answer::Waits };
        self.queue = before;
        Answer::Deadlock(steps)
    }

    /// The graph of waits. An owner waits for the holder of each lock, and for those before it who want the lock among
    /// others. Such a waiter keeps the lock from those behind while it waits for the others. An owner does not wait for
    /// locks that it holds itself.
    pub(super) fn edges(&self) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for (place, waiter) in self.queue.iter().enumerate() {
            let owner = waiter.request.owner;
            let wanted = waiter.request.keys.iter().filter(|key| self.holder(key) != Some(owner));
            for &key in wanted {
                let ahead = self.line(key).filter(|&at| at < place && self.queue[at].request.together);
                let ahead = ahead.map(|at| self.queue[at].request.owner);
                let others = self.holder(key).into_iter().chain(ahead).filter(|other| *other != owner);
                edges.extend(others.map(|other| (owner, key, other)));
            }
        }
        edges
    }

    /// The edges while a request waits that would close a cycle: as if it stood in the queue.
    pub(super) fn edges_with(&self, request: &Request) -> BTreeSet<Edge> {
        let mut queue = self.queue.clone();
        let made = u64::MAX;
        queue.push(Waiter { client: usize::MAX, request: request.clone(), since_ms: 0, ends_ms: 0, made });
        queue.sort_by_key(|waiter| (-waiter.request.priority, waiter.made));
        Model { queue, locks: self.locks.clone(), ..Model::default() }.edges()
    }

    /// The number of waits on the shortest way from an owner back to it.
    fn shortest_cycle(&self, owner: &'static str) -> Option<usize> {
        let edges = self.edges();
        let mut reached = BTreeSet::from([owner]);
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for steps in 1..=edges.len() {
            let next = edges.iter().filter(|(from, ..)| reached.contains(from));
            reached = next.map(|(.., to)| *to).filter(|to| !seen.contains(to)).collect();
            if reached.contains(owner) {
                return Some(steps);
            }
            seen.extend(&reached);
        }
        None
    }

    /// Ends the waits that are in a cycle because their owners have come to hold a lock, or have lost one. The owner
    /// with the latest change comes first. Returns whether there was one.
    fn end_closed_cycles(&mut self) -> bool {
        let mut has_ended = false;
        let mut changed = std::mem::take(&mut self.changed);
        let mut known = BTreeSet::new();
        changed.retain(|owner| known.insert(*owner));
        for owner in changed.into_iter().rev() {
            let Some(at) = self.queue.iter().position(|waiter| waiter.request.owner == owner) else {
                continue;
            };
            if let Some(steps) = self.shortest_cycle(owner) {
                let waiter = self.queue.remove(at);
                self.told.insert(waiter.client, format!("deadlock of {steps}"));
                has_ended = true;
            }
        }
        has_ended
    }

    /// Serves all possible waiters: the first of each line, and the owners that already hold the requested locks. Then
    /// waits in a cycle that has been closed end.
    fn serve(&mut self) {
        while {
            while let Some(at) = (0..self.queue.len()).find(|&at| self.is_asked(at) && self.serve_at(at)) {
                self.queue.remove(at);
            }
            self.end_closed_cycles()
        } {}
    }

    fn is_asked(&self, at: usize) -> bool {
        let Request { owner, keys, .. } = &self.queue[at].request;
        keys.iter().any(|key| self.holder(key) == Some(owner) || self.line(key).next() == Some(at))
    }

    fn serve_at(&mut self, at: usize) -> bool {
        let Waiter { client, request, since_ms, .. } = self.queue[at].clone();
        let told = self.attempt(&request, Some(at), self.now_ms - since_ms);
        told.map(|told| self.told.insert(client, told)).is_some()
    }

    /// Ends the waits of all waiters that `leaves` names. Returns their number.
    pub(super) fn leave(&mut self, told: &str, leaves: impl Fn(usize, &Request) -> bool) -> usize {
        let mut left = 0;
        for waiter in self.queue.extract_if(.., |waiter| leaves(waiter.client, &waiter.request)) {
            self.told.insert(waiter.client, told.into());
            left += 1;
        }
        self.serve();
        left
    }

    /// Releases one hold of each lock, or all. Returns the owner's remaining holds, or `None` if it does not hold one
    /// of the locks.
    pub(super) fn release(&mut self, keys: &[&'static str], owner: &str, all: bool) -> Option<Vec<i64>> {
        if !keys.iter().all(|key| self.holder(key) == Some(owner)) {
            return None;
        }
        let mut left = Vec::new();
        for key in keys {
            let hold = self.locks.get_mut(key).expect("it is held");
            hold.count = if all { 0 } else { hold.count - 1 };
            left.push(hold.count);
        }
        self.lose(|_, hold| hold.count == 0);
        self.serve();
        Some(left)
    }

    /// Sets the lease of a lock, or only extends it. Returns whether it was set.
    pub(super) fn renew(&mut self, key: &str, owner: &str, lease_ms: i64, only_longer: bool) -> bool {
        let ends = (self.now_ms + lease_ms, self.made + 1);
        let Some(hold) = self.locks.get_mut(key).filter(|hold| hold.owner == owner) else { return false };
        if only_longer && hold.ends.0 >= ends.0 {
            return false;
        }
        hold.ends = ends;
        self.made += 1;
        true
    }

    /// Moves the holds to another owner, which may hold the lock already.
    pub(super) fn transfer(&mut self, key: &str, from: &str, to: &'static str) -> bool {
        let Some(hold) = self.locks.get_mut(key).filter(|hold| hold.owner == from) else { return false };
        let from = std::mem::replace(&mut hold.owner, to);
        self.changed.extend([from, to]);
        self.serve();
        true
    }

    /// Deletes locks.
    pub(super) fn delete(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.lose(|key, _| is_gone(key));
        self.serve();
    }

    fn lose(&mut self, is_lost: impl Fn(&str, &Hold) -> bool) {
        let lost = self.locks.extract_if(.., |key, hold| is_lost(key, hold));
        self.changed.extend(lost.map(|(_, hold)| hold.owner));
    }

    /// Advances time. Each deadline takes effect at its own instant, in the order of creation.
    pub(super) fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        loop {
            let locks = self.locks.iter().map(|(key, hold)| (hold.ends, Ok(*key)));
            let waits = self.queue.iter().map(|waiter| ((waiter.ends_ms, waiter.made), Err(waiter.client)));
            let Some((ends, due)) = locks.chain(waits).min_by_key(|(ends, _)| *ends) else { break };
            if ends.0 > target {
                break;
            }
            self.now_ms = ends.0;
            match due {
                Ok(key) => self.delete(|lock| lock == key),
                Err(client) => drop(self.leave("nothing", |waiting, _| waiting == client)),
            }
        }
        self.now_ms = target;
    }

    /// Each lock's owner, count and remaining lease.
    pub(super) fn shown(&self) -> Vec<(String, String, i64)> {
        let shown = self.locks.iter();
        shown
            .map(|(key, hold)| {
                ((*key).into(), format!("{} {}", hold.owner, hold.count), hold.ends.0 - self.now_ms)
            })
            .collect()
    }
}
