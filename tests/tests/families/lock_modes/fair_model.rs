//! A fair lock as a model: who queues, natively or as a thread of Redisson's, and who is served when.

use std::collections::BTreeMap;

/// One who waits natively.
#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    owner: &'static str,
    lease_ms: i64,
    since_ms: i64,
    ends_ms: i64,
    /// When its wait was made, among all deadlines.
    made: u64,
}

#[derive(Debug)]
struct Hold {
    owner: &'static str,
    count: i64,
    /// When its lease ends, and when that was made.
    ends: (i64, u64),
}

/// The lock and its queue.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) now_ms: i64,
    made: u64,
    lock: Option<Hold>,
    /// All who queue, in order of arrival.
    queue: Vec<&'static str>,
    waiters: Vec<Waiter>,
    /// Whether Redisson's list was lost while some waited: those who wait natively come back into it one by one.
    pub(super) list_was_lost: bool,
    /// What each client was told, and has not read yet.
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

    /// Gives the lock to an owner, if it holds it or is the next; how often it holds it then.
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

    /// A native client asks, and waits for so long if it must, or not at all.
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

    /// A thread of Redisson's asks: whether it gets the lock; otherwise it queues.
    pub(super) fn ask_as_redisson(&mut self, owner: &'static str, lease_ms: i64) -> bool {
        let granted = self.attempt(owner, lease_ms).is_some();
        if !granted {
            self.join(owner);
        }
        self.serve();
        granted
    }

    /// A thread of Redisson's waits no longer.
    pub(super) fn give_up(&mut self, owner: &str) {
        self.queue.retain(|queued| *queued != owner);
        self.serve();
    }

    /// How many holds an owner has left when it gives one back, or all; then with this lease, if one is given.
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

    /// The holds move to another owner.
    pub(super) fn transfer(&mut self, from: &str, to: &'static str) -> bool {
        let Some(hold) = self.lock.as_mut().filter(|hold| hold.owner == from) else { return false };
        hold.owner = to;
        self.serve();
        true
    }

    /// The head is served if it waits natively and the lock is free, and whoever holds the lock that it waits for.
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

    /// Ends the waits of all that `leaves` names; how many.
    pub(super) fn leave(&mut self, told: &str, leaves: impl Fn(usize, &str) -> bool) -> usize {
        let gone: Vec<Waiter> = self.waiters.extract_if(.., |w| leaves(w.client, w.owner)).collect();
        for waiter in &gone {
            self.queue.retain(|queued| *queued != waiter.owner);
            self.told.insert(waiter.client, told.into());
        }
        self.serve();
        gone.len()
    }

    /// The lock is gone; and perhaps Redisson's list, with its threads.
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

    /// Moves time on, each deadline at its own instant, in the order in which they were made.
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

    /// The holder with its count, and the rest of its lease.
    pub(super) fn shown(&self) -> Option<(String, i64)> {
        self.lock.as_ref().map(|hold| (format!("{} {}", hold.owner, hold.count), hold.ends.0 - self.now_ms))
    }

    /// All who queue.
    pub(super) fn queue(&self) -> &[&'static str] {
        &self.queue
    }
}
