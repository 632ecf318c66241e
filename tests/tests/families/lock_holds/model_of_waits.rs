//! Plain locks of several keys as a model: who holds what, who is served when, and who waits for whom.

use std::collections::{BTreeMap, BTreeSet};

/// What an owner asks for.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) owner: &'static str,
    pub(super) keys: Vec<&'static str>,
    /// Whether all are wanted together, or the only one by itself.
    pub(super) together: bool,
    pub(super) lease_ms: i64,
    pub(super) priority: i64,
}

/// One who waits.
#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    request: Request,
    since_ms: i64,
    ends_ms: i64,
    /// When its wait was made, among all deadlines.
    made: u64,
}

/// The hold of a lock.
#[derive(Clone, Debug)]
struct Hold {
    owner: &'static str,
    count: i64,
    /// When its lease ends, and when that was made.
    ends: (i64, u64),
}

/// That one owner waits for another: who, for which lock, for whom.
pub(super) type Edge = (&'static str, &'static str, &'static str);

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted(String),
    Waits,
    /// So many waits are on the shortest cycle that it would close.
    Deadlock(usize),
    Nothing,
}

/// The locks, and those who wait.
#[derive(Debug, Default)]
pub(super) struct Model {
    now_ms: i64,
    made: u64,
    locks: BTreeMap<&'static str, Hold>,
    /// In the order in which they are served, on every key.
    queue: Vec<Waiter>,
    /// The owners that have come to hold a lock, or have lost one, since their waits were looked at.
    changed: Vec<&'static str>,
    /// What each client was told, and has not read yet.
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

    /// The places in the queue of those who wait for a lock.
    fn line<'a>(&'a self, key: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.queue.iter().enumerate().filter(move |(_, w)| w.request.keys.contains(&key)).map(|(at, _)| at)
    }

    /// Whether a lock can be had by a newcomer, or by the waiter at this place.
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

    /// Gives all that is asked for, if all can be had.
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

    /// Somebody asks who does not wait: for so long it waits if it must, or not at all.
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

    /// Who waits for whom: for the holder of each lock, and for those before them who want it with others, and keep it
    /// from those behind while they wait for those. An owner waits for none of that which it holds itself.
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

    /// How many waits are on the shortest way from an owner back to it.
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

    /// Ends the waits that are in a cycle by what their owners have come to hold, or have lost: first that of the owner
    /// of which that was seen last. Whether there was one.
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

    /// Serves all that can be: the first of each line, and those who hold what they wait for. Then who waits in a cycle
    /// that has been closed waits no longer.
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

    /// Ends the waits of all that `leaves` names; how many.
    pub(super) fn leave(&mut self, told: &str, leaves: impl Fn(usize, &Request) -> bool) -> usize {
        let mut left = 0;
        for waiter in self.queue.extract_if(.., |waiter| leaves(waiter.client, &waiter.request)) {
            self.told.insert(waiter.client, told.into());
            left += 1;
        }
        self.serve();
        left
    }

    /// How many holds of each lock an owner has left when it gives one back, or all; `None`: one it does not hold.
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

    /// Sets the lease of a lock anew, or only makes it longer; whether it was set.
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

    /// The holds move to another owner, whether that holds the lock or not.
    pub(super) fn transfer(&mut self, key: &str, from: &str, to: &'static str) -> bool {
        let Some(hold) = self.locks.get_mut(key).filter(|hold| hold.owner == from) else { return false };
        let from = std::mem::replace(&mut hold.owner, to);
        self.changed.extend([from, to]);
        self.serve();
        true
    }

    /// Locks are gone.
    pub(super) fn delete(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.lose(|key, _| is_gone(key));
        self.serve();
    }

    fn lose(&mut self, is_lost: impl Fn(&str, &Hold) -> bool) {
        let lost = self.locks.extract_if(.., |key, hold| is_lost(key, hold));
        self.changed.extend(lost.map(|(_, hold)| hold.owner));
    }

    /// Moves time on, each deadline at its own instant, in the order in which they were made.
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

    /// Each lock's owner, count and the rest of its lease.
    pub(super) fn shown(&self) -> Vec<(String, String, i64)> {
        let shown = self.locks.iter();
        shown
            .map(|(key, hold)| {
                ((*key).into(), format!("{} {}", hold.owner, hold.count), hold.ends.0 - self.now_ms)
            })
            .collect()
    }
}
