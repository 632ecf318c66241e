//! A model of a fair lock: the members of the queue, native or threads of Redisson, and the order of service.

use std::collections::BTreeMap;

/// A native waiter.
#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    owner: &'static str,
    lease_ms: i64,
    since_ms: i64,
    ends_ms: i64,
    /// The sequence number of the wait among all deadlines.
    made: u64,
}

#[derive(Debug)]
struct Hold {
    owner: &'static str,
    count: i64,
    /// The end of the lease, and the sequence number of that deadline.
    ends: (i64, u64),
}

/// The lock and its queue.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) now_ms: i64,
    made: u64,
    lock: Option<Hold>,
    /// All members of the queue, in order of arrival.
    queue: Vec<&'static str>,
    waiters: Vec<Waiter>,
    /// Whether Redisson's list was lost while clients waited: native waiters return to it one by one.
    pub(super) list_was_lost: bool,
    /// The replies to each client that it has not read yet.
    pub(super) told: BTreeMap<usize, String>,
}

impl Model {
    fn make(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    pub(super) fn is_waiting(&self, client: usize) -> bool {
        self.waiters.iter().any(|waiter| waiter.client == client)
    }

    pub(super) fn owner_waits(&self, owner: &str) -> bool {
        self.waiters.iter().any(|waiter| waiter.owner == owner)
    }

    fn holder(&self) -> Option<&'static str> {
        self.lock.as_ref().map(|hold| hold.owner)
    }

    /// Gives the lock to an owner, if it holds it or is the next. Returns its number of holds.
    fn attempt(&mut self, owner: &'static str, lease_ms: i64) -> Option<i64> {
        let is_next = self.queue.first().is_none_or(|head| *head == owner);
        match self.holder() {
            Some(holder) if holder != owner => return None,
            None if !is_next => return None,
            _ => {}
        }
        if self.lock.is_none() {
            self.queue.retain(|queued| *queued != owner);
        }
        let ends = (self.now_ms + lease_ms, self.make());
        let hold = self.lock.get_or_insert(Hold { owner, count: 0, ends });
        (hold.count, hold.ends) = (hold.count + 1, ends);
        Some(hold.count)
    }

    fn join(&mut self, owner: &'static str) {
        if !self.queue.contains(&owner) {
            self.queue.push(owner);
        }
    }

    /// Handles a native client's request. It waits at most this long if it must, or not at all.
    pub(super) fn ask(&mut self, client: usize, owner: &'static str, lease_ms: i64, wait_ms: Option<i64>) {
        if let Some(holds) = self.attempt(owner, lease_ms) {
            self.told.insert(client, format!("granted {holds} {lease_ms} 0"));
        } else if let Some(wait_ms) = wait_ms {
            self.join(owner);
            let (since_ms, ends_ms, made) = (self.now_ms, self.now_ms + wait_ms, self.make());
            self.waiters.push(Waiter { client, owner, lease_ms, since_ms, ends_ms, made });
        } else {
            self.told.insert(client, "nothing".into());
        }
        self.serve();
    }

    /// Handles a Redisson thread's request. Returns whether it gets the lock; otherwise it queues.
    pub(super) fn ask_as_redisson(&mut self, owner: &'static str, lease_ms: i64) -> bool {
        let granted = self.attempt(owner, lease_ms).is_some();
        if !granted {
            self.join(owner);
        }
        self.serve();
        granted
    }

    /// A thread of Redisson gives up.
    pub(super) fn give_up(&mut self, owner: &str) {
        self.queue.retain(|queued| *queued != owner);
        self.serve();
    }

    /// Releases one hold of an owner, or all, and sets the lease if one is given. Returns the remaining holds.
    pub(super) fn release(&mut self, owner: &str, all: bool, lease_ms: Option<i64>) -> Option<i64> {
        let ends = lease_ms.map(|ms| (self.now_ms + ms, self.made + 1));
        let hold = self.lock.as_mut().filter(|hold| hold.owner == owner)?;
        hold.count = if all { 0 } else { hold.count - 1 };
        let left = hold.count;
        if left == 0 {
            self.lock = None;
        } else if let Some(ends) = ends {
            hold.ends = ends;
            self.made += 1;
        }
        self.serve();
        Some(left)
    }

    /// Moves the holds to another owner.
    pub(super) fn transfer(&mut self, from: &str, to: &'static str) -> bool {
        let Some(hold) = self.lock.as_mut().filter(|hold| hold.owner == from) else { return false };
        hold.owner = to;
        self.serve();
        true
    }

    /// Serves the head if it waits natively and the lock is free, and any waiter that already holds the lock.
    fn serve(&mut self) {
        loop {
            let next = self.holder().or(self.queue.first().copied());
            let Some(at) = self.waiters.iter().position(|waiter| Some(waiter.owner) == next) else { break };
            let Waiter { client, owner, lease_ms, since_ms, .. } = self.waiters.remove(at);
            let holds = self.attempt(owner, lease_ms).expect("it is the next");
            self.queue.retain(|queued| *queued != owner);
            self.told.insert(client, format!("granted {holds} {lease_ms} {}", self.now_ms - since_ms));
        }
        self.list_was_lost &= !self.queue.is_empty();
    }

    /// Ends the waits of all waiters that `leaves` names. Returns their number.
    pub(super) fn leave(&mut self, told: &str, leaves: impl Fn(usize, &str) -> bool) -> usize {
        let gone: Vec<Waiter> = self.waiters.extract_if(.., |w| leaves(w.client, w.owner)).collect();
        for waiter in &gone {
            self.queue.retain(|queued| *queued != waiter.owner);
            self.told.insert(waiter.client, told.into());
        }
        self.serve();
        gone.len()
    }

    /// Deletes the lock, and perhaps Redisson's list with its threads.
    pub(super) fn delete(&mut self, lock: bool, list: bool) {
        if lock {
            self.lock = None;
        }
        if list {
            self.queue = self.waiters.iter().map(|waiter| waiter.owner).collect();
            self.list_was_lost = true;
        }
        self.serve();
    }

    /// Advances time. Each deadline takes effect at its own instant, in the order of creation.
    pub(super) fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        loop {
            let lock = self.lock.iter().map(|hold| (hold.ends, None));
            let waits = self.waiters.iter().map(|w| ((w.ends_ms, w.made), Some(w.client)));
            let first = lock.chain(waits).min_by_key(|(ends, _)| *ends);
            let Some((ends, due)) = first.filter(|(ends, _)| ends.0 <= target) else { break };
            self.now_ms = ends.0;
            match due {
                None => self.delete(true, false),
                Some(client) => drop(self.leave("nothing", |waiting, _| waiting == client)),
            }
        }
        self.now_ms = target;
    }

    /// The holder with its count, and the remaining lease.
    pub(super) fn shown(&self) -> Option<(String, i64)> {
        self.lock.as_ref().map(|hold| (format!("{} {}", hold.owner, hold.count), hold.ends.0 - self.now_ms))
    }

    /// All members of the queue.
    pub(super) fn queue(&self) -> &[&'static str] {
        &self.queue
    }
}
