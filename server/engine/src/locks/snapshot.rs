//! A lock at one instant, as LOCK.INFO and the embedding API show it.

use super::full_info::{FullHolder, FullInfo, FullWaiter};
use lockwheel_resp::Reply;

/// A lock at one instant, as LOCK.INFO shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockSnapshot {
    /// The mode in which the lock is held.
    pub mode: LockMode,
    /// The layout of the lock in its key.
    pub layout: LockLayout,
    /// Milliseconds until the lease runs out; `None` without one, and for a lock without a holder.
    pub ttl_ms: Option<i64>,
    /// Milliseconds for which nobody gets the lock yet, after a hold with a `DELAY` was lost. -1 if the key no longer
    /// has an end.
    pub delay_ms: Option<i64>,
    /// The holders, in order of arrival.
    pub holders: Vec<LockHolder>,
    /// The waiters: those of LOCK.ACQUIRE in order of arrival, then Redisson's.
    pub waiters: Vec<LockWaiter>,
}

/// The mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// The lock is free: the key is absent.
    Free,
    /// One owner holds the lock.
    Exclusive,
    /// Readers hold the lock.
    Shared,
    /// The key is not a lock.
    None,
}

/// The layout of a lock in its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockLayout {
    /// There is no lock.
    None,
    /// A hash of owners, as in Redisson's plain lock and LOCK.ACQUIRE.
    Hash,
    /// The hash of Redisson's read-write lock.
    ReadWrite,
    /// A string with its owner, as `SET key owner NX` creates it.
    String,
}

/// A holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The name of the owner.
    pub owner: Vec<u8>,
    /// The mode in which the owner holds the lock.
    pub mode: LockMode,
    /// The number of holds.
    pub holds: i64,
    /// Whether a LOCK command took the lock.
    pub is_native: bool,
    /// The number of the grant, above that of every earlier grant of the server, if the server saw the lock taken.
    pub grant: Option<u64>,
    /// The number of Redisson's counter, if the lock was taken FENCED.
    pub counter: Option<u64>,
    /// The data that the holder gives about itself: `DATA`.
    pub data: Option<Vec<u8>>,
    /// Milliseconds for which nobody else gets the lock after a loss: `DELAY`.
    pub delay_ms: Option<i64>,
}

/// A waiter on a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWaiter {
    /// The name of the owner, if it is known.
    pub owner: Option<Vec<u8>>,
    /// The mode in which the waiter will hold the lock, if it is known.
    pub mode: Option<LockMode>,
    /// Whether the waiter uses LOCK.ACQUIRE. Any other waiter has subscribed to the lock's channel, as Redisson does.
    pub is_native: bool,
    /// The client, as in CLIENT ID.
    pub client: u64,
}

impl LockMode {
    /// Returns the name that LOCK.INFO uses.
    pub fn name(self) -> &'static str {
        match self {
            LockMode::Free => "free",
            LockMode::Exclusive => "exclusive",
            LockMode::Shared => "shared",
            LockMode::None => "none",
        }
    }
}

impl LockLayout {
    /// Returns the name that LOCK.INFO uses.
    pub fn name(self) -> &'static str {
        match self {
            LockLayout::None => "none",
            LockLayout::Hash => "hash",
            LockLayout::ReadWrite => "rwlock",
            LockLayout::String => "string",
        }
    }
}

impl LockSnapshot {
    pub(super) fn write(&self, full: Option<&FullInfo>, reply: &mut dyn Reply) {
        let more = if full.is_some() { 3 } else { usize::from(self.delay_ms.is_some()) };
        reply.map(5 + more);
        field(reply, "mode", self.mode.name().as_bytes());
        field(reply, "layout", self.layout.name().as_bytes());
        reply.bulk(b"ttl");
        // PTTL uses the same values for a key without a deadline and for an absent key.
        reply.integer(self.ttl_ms.unwrap_or(if self.mode == LockMode::Free { -2 } else { -1 }));
        reply.bulk(b"holders");
        reply.array(self.holders.len());
        for (at, holder) in self.holders.iter().enumerate() {
            holder.write(full.and_then(|full| full.holders.get(at)), reply);
        }
        reply.bulk(b"waiters");
        reply.array(self.waiters.len());
        for (at, waiter) in self.waiters.iter().enumerate() {
            waiter.write(full.and_then(|full| full.waiters.get(at)), reply);
        }
        if full.is_some() || self.delay_ms.is_some() {
            number_or_null(reply, "delay", self.delay_ms);
        }
        if let Some(full) = full {
            self.write_grants(full, reply);
        }
    }

    fn write_grants(&self, full: &FullInfo, reply: &mut dyn Reply) {
        let mut grants: Vec<u64> = self.holders.iter().filter_map(|holder| holder.grant).collect();
        grants.sort_unstable();
        reply.bulk(b"grants");
        reply.array(grants.len());
        grants.into_iter().for_each(|grant| reply.integer(grant as i64));
        match full.predecessor {
            Some(cause) => field(reply, "predecessor", cause.as_bytes()),
            None => field(reply, "predecessor", b"none"),
        }
    }
}

impl LockHolder {
    /// Returns the fencing token, if a LOCK command took the lock: the number of the grant, or of Redisson's counter.
    pub fn token(&self) -> Option<u64> {
        self.counter.or(self.grant).filter(|_| self.is_native)
    }

    fn write(&self, full: Option<&FullHolder>, reply: &mut dyn Reply) {
        let more = if full.is_some() { 2 } else { 0 };
        reply.map(6 + more + usize::from(self.data.is_some()) + usize::from(self.delay_ms.is_some()));
        field(reply, "owner", &self.owner);
        field(reply, "mode", self.mode.name().as_bytes());
        reply.bulk(b"holds");
        reply.integer(self.holds);
        field(reply, "kind", kind(self.is_native));
        number_or_null(reply, "token", self.token().map(u64::cast_signed));
        number_or_null(reply, "grant", self.grant.map(u64::cast_signed));
        if let Some(full) = full {
            number_or_null(reply, "ttl", full.ttl_ms);
            number_or_null(reply, "session", full.session.map(u64::cast_signed));
        }
        if let Some(data) = &self.data {
            field(reply, "data", data);
        }
        if let Some(delay_ms) = self.delay_ms {
            reply.bulk(b"delay");
            reply.integer(delay_ms);
        }
    }
}

impl LockWaiter {
    fn write(&self, full: Option<&FullWaiter>, reply: &mut dyn Reply) {
        reply.map(if full.is_some() { 6 } else { 4 });
        match &self.owner {
            Some(owner) => field(reply, "owner", owner),
            None => number_or_null(reply, "owner", None),
        }
        match self.mode {
            Some(mode) => field(reply, "mode", mode.name().as_bytes()),
            None => number_or_null(reply, "mode", None),
        }
        field(reply, "kind", kind(self.is_native));
        number_or_null(reply, "client", Some(self.client.cast_signed()));
        if let Some(full) = full {
            number_or_null(reply, "position", full.position.map(u64::cast_signed));
            number_or_null(reply, "priority", full.priority);
        }
    }
}

fn kind(is_native: bool) -> &'static [u8] {
    if is_native { b"native" } else { b"foreign" }
}

fn number_or_null(reply: &mut dyn Reply, name: &str, number: Option<i64>) {
    reply.bulk(name.as_bytes());
    match number {
        Some(number) => reply.integer(number),
        None => reply.null(),
    }
}

fn field(reply: &mut dyn Reply, name: &str, value: &[u8]) {
    reply.bulk(name.as_bytes());
    reply.bulk(value);
}
