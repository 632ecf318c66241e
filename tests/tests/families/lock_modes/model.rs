//! A model of a read-write lock: holders, their leases, and the order of service.

use std::collections::BTreeMap;

/// A mode of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Shared,
    Exclusive,
}

/// The content of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// A hold in this mode, with this lease.
    Hold(Mode, i64),
    /// A conversion of the holds to this mode, with a new lease if one is given.
    Conversion(Mode, Option<i64>),
}

/// A waiter.
#[derive(Clone, Debug)]
struct Waiter {
    client: usize,
    owner: &'static str,
    wanted: Wanted,
    /// The priority. A higher one is served earlier.
    priority: i128,
    since_ms: i64,
    ends_ms: i64,
    /// The sequence number of the wait among all deadlines.
    made: u64,
}

/// The holds of one owner, and their grants.
#[derive(Clone, Copy, Debug, Default)]
struct Holder {
    reads: i64,
    writes: i64,
    read_grant: u64,
    write_grant: u64,
}

/// The key of the lock.
#[derive(Debug, Default)]
struct Lock {
    is_written: bool,
    holders: BTreeMap<&'static str, Holder>,
    /// The end of the lease, and the sequence number of that deadline.
    ends: (i64, u64),
}

/// The lock, the separate leases of read holds, and its queue.
#[derive(Debug, Default)]
pub(super) struct Model {
    now_ms: i64,
    made: u64,
    grants: u64,
    lock: Option<Lock>,
    leases: BTreeMap<(&'static str, i64), (i64, u64)>,
    /// The waiters, in the order in which they are served.
    queue: Vec<Waiter>,
    /// The replies to each client that it has not read yet.
    pub(super) told: BTreeMap<usize, String>,
}

impl Model {
    fn make(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn holder(&self, owner: &str) -> Holder {
        self.lock.as_ref().and_then(|lock| lock.holders.get(owner)).copied().unwrap_or_default()
    }

    fn holds(&self, owner: &str) -> bool {
        self.lock.as_ref().is_some_and(|lock| lock.holders.contains_key(owner))
    }

    fn left_ms(&self) -> i64 {
        self.lock.as_ref().map_or(0, |lock| lock.ends.0 - self.now_ms)
    }

    /// Extends the lease of the lock to this one, if it is longer.
    fn lengthen(&mut self, lease_ms: i64) {
        let (ends_ms, made) = (self.now_ms + lease_ms, self.make());
        let lock = self.lock.get_or_insert_default();
        lock.ends = (lock.ends.0.max(ends_ms), made);
    }

    fn change(&mut self, owner: &'static str, change: impl FnOnce(&mut Lock, &mut Holder)) {
        let lock = self.lock.get_or_insert_default();
        let mut holder = lock.holders.remove(owner).unwrap_or_default();
        change(lock, &mut holder);
        if holder.reads > 0 || holder.writes > 0 {
            lock.holders.insert(owner, holder);
        }
    }

    fn lease(&mut self, owner: &'static str, n: i64, lease_ms: i64) {
        let made = self.make();
        self.leases.insert((owner, n), (self.now_ms + lease_ms, made));
    }

    /// The end of the last of an owner's leases.
    fn last_lease(&self, owner: &'static str, reads: i64) -> Option<i64> {
        (1..=reads).filter_map(|n| self.leases.get(&(owner, n))).map(|(at, _)| *at).max()
    }

    /// The time for which an owner still reads.
    fn own_ms(&self, owner: &'static str, reads: i64) -> i64 {
        self.last_lease(owner, reads).map_or_else(|| self.left_ms(), |ends_ms| ends_ms - self.now_ms)
    }

    /// The lease of a read lock is the longest of its readers' leases.
    fn lease_of_readers(&mut self) {
        let holders = self.lock.iter().flat_map(|lock| &lock.holders);
        let longest = holders.filter_map(|(owner, holder)| self.last_lease(owner, holder.reads)).max();
        let made = self.make();
        if let (Some(at), Some(lock)) = (longest, &mut self.lock) {
            lock.ends = (at, made);
        }
    }

    fn read(&mut self, owner: &'static str, lease_ms: i64) -> String {
        let Holder { reads, read_grant, .. } = self.holder(owner);
        let grant = if reads > 0 { read_grant } else { self.grant() };
        self.change(owner, |_, holder| (holder.reads, holder.read_grant) = (reads + 1, grant));
        self.lease(owner, reads + 1, lease_ms);
        self.lengthen(lease_ms);
        format!("granted {grant} {} {lease_ms}", reads + 1)
    }

    fn write(&mut self, owner: &'static str, lease_ms: i64) -> (u64, i64) {
        let Holder { writes, write_grant, .. } = self.holder(owner);
        let grant = if writes > 0 { write_grant } else { self.grant() };
        self.change(owner, |lock, holder| {
            lock.is_written = true;
            (holder.writes, holder.write_grant) = (writes + 1, grant);
        });
        self.lengthen(lease_ms);
        (grant, writes + 1)
    }

    fn grant(&mut self) -> u64 {
        self.grants += 1;
        self.grants
    }

    /// Whether a writer waits before a newcomer of this priority.
    fn writer_waits(&self, priority: i128) -> bool {
        let writes = |waiter: &Waiter| !matches!(waiter.wanted, Wanted::Hold(Mode::Shared, _));
        self.queue.iter().any(|waiter| writes(waiter) && waiter.priority >= priority)
    }

    /// Grants a request if possible, for a newcomer of a priority or for a waiter. Returns the reply. An error is the
    /// reply to a request that can never be granted.
    fn attempt(
        &mut self,
        owner: &'static str,
        wanted: Wanted,
        newcomer: Option<i128>,
    ) -> Result<Option<String>, &'static str> {
        let holder = self.holder(owner);
        let (is_free, is_written) = (self.lock.is_none(), self.lock.as_ref().is_some_and(|l| l.is_written));
        let others = self.lock.as_ref().is_some_and(|lock| lock.holders.keys().any(|name| *name != owner));
        Ok(match wanted {
            Wanted::Hold(Mode::Shared, lease_ms) if self.holds(owner) => Some(self.read(owner, lease_ms)),
            Wanted::Hold(Mode::Shared, lease_ms) => {
                let waits = is_written || newcomer.is_some_and(|priority| self.writer_waits(priority));
                if waits { None } else { Some(self.read(owner, lease_ms)) }
            }
            Wanted::Hold(Mode::Exclusive, lease_ms) if is_free || holder.writes > 0 => {
                let (grant, holds) = self.write(owner, lease_ms);
                Some(format!("granted {grant} {holds} {}", self.left_ms()))
            }
            Wanted::Hold(Mode::Exclusive, _) if holder.reads > 0 => return Err("deadlock"),
            Wanted::Hold(Mode::Exclusive, _) => None,
            Wanted::Conversion(..) if !self.holds(owner) => return Err("not held"),
            Wanted::Conversion(Mode::Exclusive, _) if holder.writes > 0 => {
                Some(format!("granted {} {} {}", holder.write_grant, holder.writes, self.left_ms()))
            }
            Wanted::Conversion(Mode::Exclusive, _) if others => None,
            Wanted::Conversion(Mode::Exclusive, lease_ms) => {
                let (grant, holds) = self.write(owner, lease_ms.unwrap_or_else(|| self.left_ms()));
                Some(format!("granted {grant} {holds} {}", self.left_ms()))
            }
            Wanted::Conversion(Mode::Shared, lease_ms) => Some(self.downgrade(owner, lease_ms)),
        })
    }

    /// The writer also reads, by the same grant.
    fn downgrade(&mut self, owner: &'static str, lease_ms: Option<i64>) -> String {
        let Holder { reads, writes, read_grant, write_grant } = self.holder(owner);
        if writes == 0 {
            return format!("granted {read_grant} {reads} {}", self.own_ms(owner, reads));
        }
        let (holds, is_set) = (reads.max(writes), lease_ms.is_some());
        let lease_ms = lease_ms.unwrap_or_else(|| self.left_ms());
        self.change(owner, |lock, holder| {
            lock.is_written = false;
            *holder = Holder { reads: holds, read_grant: write_grant, ..Holder::default() };
        });
        (reads + 1..=holds).for_each(|n| self.lease(owner, n, lease_ms));
        // The newest of its shared holds is the former exclusive hold.
        let is_shorter = |(ends_ms, _): &(i64, u64)| *ends_ms < self.now_ms + lease_ms;
        if reads == holds && (is_set || self.leases.get(&(owner, holds)).is_some_and(is_shorter)) {
            self.lease(owner, holds, lease_ms);
        }
        self.lengthen(lease_ms);
        format!("granted {write_grant} {holds} {}", self.own_ms(owner, holds))
    }

    pub(super) fn is_waiting(&self, client: usize) -> bool {
        self.queue.iter().any(|waiter| waiter.client == client)
    }

    /// Handles a request of a client that is not waiting. It waits at most this long if it must.
    pub(super) fn ask(
        &mut self,
        client: usize,
        (owner, wanted): (&'static str, Wanted),
        priority: i64,
        wait_ms: i64,
    ) {
        assert!(!self.is_waiting(client), "it asks again only when it has been answered");
        let converts = matches!(wanted, Wanted::Conversion(..));
        let priority = if converts { i128::MAX } else { priority.into() };
        let told = match self.attempt(owner, wanted, Some(priority)) {
            Ok(Some(told)) => told + " 0",
            Err(told) => told.to_owned(),
            Ok(None) if converts && self.queue.iter().any(|waiter| waiter.priority == i128::MAX) => {
                "deadlock".to_owned()
            }
            Ok(None) => {
                let (since_ms, ends_ms, made) = (self.now_ms, self.now_ms + wait_ms, self.make());
                self.queue.push(Waiter { client, owner, wanted, priority, since_ms, ends_ms, made });
                self.queue.sort_by_key(|waiter| (-waiter.priority, waiter.made));
                return;
            }
        };
        self.told.insert(client, told);
        self.serve();
    }

    /// Serves all possible waiters: the first ones up to one that must wait, and those whose owner holds the lock.
    fn serve(&mut self) {
        while self.serve_first() || self.serve_holders() {}
    }

    fn serve_first(&mut self) -> bool {
        !self.queue.is_empty() && self.serve_at(0)
    }

    fn serve_holders(&mut self) -> bool {
        (0..self.queue.len()).any(|at| self.holds(self.queue[at].owner) && self.serve_at(at))
    }

    /// Serves the waiter at this position of the queue, if possible.
    fn serve_at(&mut self, at: usize) -> bool {
        let Waiter { client, owner, wanted, since_ms, .. } = self.queue[at];
        let told = match self.attempt(owner, wanted, None) {
            Ok(None) => return false,
            Ok(Some(told)) => format!("{told} {}", self.now_ms - since_ms),
            Err(told) => told.to_owned(),
        };
        self.queue.remove(at);
        self.told.insert(client, told);
        true
    }

    /// Ends the waits of all waiters that `leaves` names. Returns their number.
    pub(super) fn leave(&mut self, told: &str, leaves: impl Fn(usize, &str) -> bool) -> usize {
        let mut left = 0;
        for waiter in self.queue.extract_if(.., |waiter| leaves(waiter.client, waiter.owner)) {
            self.told.insert(waiter.client, told.into());
            left += 1;
        }
        self.serve();
        left
    }

    /// Releases one hold of an owner in this mode, or all. Returns the remaining holds. Returns `None` if the owner has
    /// no such hold, or holds in both modes and names none.
    pub(super) fn release(&mut self, owner: &'static str, mode: Option<Mode>, all: bool) -> Option<i64> {
        let Holder { reads, writes, .. } = self.holder(owner);
        let mode = match (mode, reads > 0, writes > 0) {
            (None | Some(Mode::Shared), true, false) | (Some(Mode::Shared), true, true) => Mode::Shared,
            (None | Some(Mode::Exclusive), false, true) | (Some(Mode::Exclusive), true, true) => {
                Mode::Exclusive
            }
            _ => return None,
        };
        let holds = if mode == Mode::Shared { reads } else { writes };
        let mut left = if all { 0 } else { holds - 1 };
        match mode {
            Mode::Shared => left = self.unread(owner, holds, left),
            Mode::Exclusive => self.unwrite(owner, left),
        }
        self.serve();
        Some(left)
    }

    /// Leaves an owner this number of its shared holds, or none if their leases are over. Returns the remaining number.
    fn unread(&mut self, owner: &'static str, holds: i64, left: i64) -> i64 {
        for n in left + 1..=holds {
            self.leases.remove(&(owner, n));
        }
        let left = if self.last_lease(owner, left).is_some() { left } else { 0 };
        self.change(owner, |_, holder| holder.reads = left);
        if self.lock.as_ref().is_some_and(|lock| lock.holders.is_empty()) {
            self.lock = None;
        } else if self.lock.as_ref().is_some_and(|lock| !lock.is_written) {
            self.lease_of_readers();
        }
        left
    }

    fn unwrite(&mut self, owner: &'static str, left: i64) {
        self.change(owner, |lock, holder| {
            holder.writes = left;
            lock.is_written = left > 0;
        });
        if self.lock.as_ref().is_some_and(|lock| lock.holders.is_empty()) {
            self.lock = None;
        }
    }

    /// Sets all leases of an owner, or only extends them. Returns whether any was set.
    pub(super) fn renew(&mut self, owner: &'static str, lease_ms: i64, only_longer: bool) -> bool {
        let (Holder { reads, .. }, ends_ms) = (self.holder(owner), self.now_ms + lease_ms);
        if !self.holds(owner) {
            return false;
        }
        let mut is_set = false;
        for n in (1..=reads).rev() {
            if self.leases.get(&(owner, n)).is_some_and(|(at, _)| !only_longer || *at < ends_ms) {
                self.lease(owner, n, lease_ms);
                is_set = true;
            }
        }
        let is_shorter = self.left_ms() < lease_ms;
        if is_shorter || (reads == 0 && !only_longer) {
            let made = self.make();
            self.lock.get_or_insert_default().ends = (ends_ms, made);
            return true;
        }
        if !only_longer {
            self.lease_of_readers();
        }
        is_set || !only_longer
    }

    /// Deletes the key of the lock, and the separate leases too if all keys go.
    pub(super) fn delete(&mut self, all_keys: bool) {
        self.lock = None;
        if all_keys {
            self.leases.clear();
        }
        self.serve();
    }

    /// Advances time. Each deadline takes effect at its own instant, in the order of creation.
    pub(super) fn advance(&mut self, ms: i64) {
        let target = self.now_ms + ms;
        while let Some((at, due)) = self.next_due().filter(|&(at, _)| at <= target) {
            self.now_ms = at;
            match due {
                Due::Lock => self.delete(false),
                Due::Lease(owner, n) => self.lease_ends(owner, n),
                Due::Wait(client) => drop(self.leave("nothing", |waiting, _| waiting == client)),
            }
        }
        self.now_ms = target;
    }

    fn next_due(&self) -> Option<(i64, Due)> {
        let lock = self.lock.iter().map(|lock| (lock.ends, Due::Lock));
        let leases = self.leases.iter().map(|(&(owner, n), &ends)| (ends, Due::Lease(owner, n)));
        let waits = self.queue.iter().map(|waiter| ((waiter.ends_ms, waiter.made), Due::Wait(waiter.client)));
        let first = lock.chain(leases).chain(waits).min_by_key(|(ends, _)| *ends);
        first.map(|((at, _), due)| (at, due))
    }

    /// An owner's shared holds end with its last lease, unless the whole lock ends at that instant.
    fn lease_ends(&mut self, owner: &'static str, n: i64) {
        self.leases.remove(&(owner, n));
        let reads = self.holder(owner).reads;
        if reads > 0 && self.left_ms() > 0 && self.last_lease(owner, reads).is_none() {
            self.unread(owner, reads, 0);
            self.serve();
        }
    }

    /// The fields of the lock, its remaining lease, and the number of keys.
    pub(super) fn shown(&self) -> (BTreeMap<String, String>, i64, usize) {
        let Some(lock) = &self.lock else { return (BTreeMap::new(), -2, self.leases.len()) };
        let mode = if lock.is_written { "write" } else { "read" };
        let mut fields = BTreeMap::from([("mode".to_owned(), mode.to_owned())]);
        for (owner, Holder { reads, writes, .. }) in &lock.holders {
            let counts = [((*owner).to_owned(), reads), (format!("{owner}:write"), writes)];
            fields.extend(counts.into_iter().filter(|(_, n)| **n > 0).map(|(name, n)| (name, n.to_string())));
        }
        (fields, self.left_ms(), self.leases.len() + 1)
    }
}

/// A deadline.
#[derive(Clone, Copy, Debug)]
enum Due {
    Lock,
    Lease(&'static str, i64),
    Wait(usize),
}
