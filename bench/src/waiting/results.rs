//! The results of the waiting workloads, as they are written to files and read again.

use serde::{Deserialize, Serialize};

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockKind {
    /// Redisson's lock: every unlock wakes every waiter.
    RLock,
    /// Redisson's fair lock: a queue in the server, kept by scripts.
    Fair,
    /// `LOCK.ACQUIRE … BLOCK`.
    Native,
    /// `LOCK.ACQUIRE … FAIR BLOCK`, which keeps Redisson's queue.
    NativeFair,
    /// The writers of Redisson's read-write lock: every unlock wakes every waiter.
    Write,
    /// `LOCK.ACQUIRE … EXCLUSIVE BLOCK`.
    NativeWrite,
    /// The readers of Redisson's read-write lock. All wait behind a writer, whose unlock wakes them all.
    Read,
    /// `LOCK.ACQUIRE … SHARED BLOCK`, by readers that wait behind a writer.
    NativeRead,
    /// Redisson's semaphore with one permit: every release wakes every waiter.
    Semaphore,
    /// `SEM.ACQUIRE … BLOCK`, with one permit.
    NativeSemaphore,
}

impl LockKind {
    /// All kinds.
    pub const ALL: [LockKind; 10] = [
        LockKind::RLock,
        LockKind::Native,
        LockKind::Fair,
        LockKind::NativeFair,
        LockKind::Write,
        LockKind::NativeWrite,
        LockKind::Read,
        LockKind::NativeRead,
        LockKind::Semaphore,
        LockKind::NativeSemaphore,
    ];

    /// Whether the kind needs commands that only Lockwheel has.
    pub fn is_native(self) -> bool {
        use LockKind::*;
        matches!(self, Native | NativeFair | NativeWrite | NativeRead | NativeSemaphore)
    }

    /// Whether one release lets all waiters in.
    pub fn is_shared(self) -> bool {
        matches!(self, LockKind::Read | LockKind::NativeRead)
    }

    /// Returns the readable name.
    pub fn name(self) -> &'static str {
        match self {
            LockKind::RLock => "RLock",
            LockKind::Fair => "fair lock",
            LockKind::Native => "native lock",
            LockKind::NativeFair => "native fair lock",
            LockKind::Write => "write lock",
            LockKind::NativeWrite => "native write lock",
            LockKind::Read => "read lock",
            LockKind::NativeRead => "native read lock",
            LockKind::Semaphore => "semaphore",
            LockKind::NativeSemaphore => "native semaphore",
        }
    }
}

/// The hand-offs of a lock while others waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    /// The name of the server.
    pub server: String,
    /// The kind of lock.
    pub kind: LockKind,
    /// The number of waiters while one party held the lock.
    pub waiters: usize,
    /// The number of measured turns.
    pub handoffs: usize,
    /// The number of requests per turn, over all clients.
    pub requests_each: f64,
    /// The number of commands that the server ran per turn, including those of scripts.
    pub commands_each: f64,
    /// The number of waiters woken per turn.
    pub wake_ups_each: f64,
    /// The median time from the release until the next holder knows of its grant, in µs. For readers it ends with the
    /// last one.
    pub p50_us: f64,
    /// The 99th percentile of that time.
    pub p99_us: f64,
    /// The maximum of that time.
    pub max_us: f64,
    /// The median time from the release until all others waited again, in µs.
    pub settled_p50_us: f64,
    /// The server's processor time per turn, in µs, if its process is known.
    pub cpu_us_each: Option<f64>,
}

/// The lateness of the events of expired keys, counted from the deadlines of the keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// The name of the server.
    pub server: String,
    /// The number of other keys, with far deadlines.
    pub timers: usize,
    /// Whether the server was busy with GETs and SETs meanwhile.
    pub loaded: bool,
    /// The number of keys with near deadlines.
    pub probes: usize,
    /// The number of keys without an event at the end of the measurement. They count as if the event had arrived then.
    pub missing: usize,
    /// The median lateness, in µs.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The 99.9th percentile.
    pub p999_us: f64,
    /// The maximum.
    pub max_us: f64,
}

/// The strain on a server while it was probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strain {
    /// No strain. Shows how far the figures can be trusted.
    Nothing,
    /// The table of keys grew from nothing.
    Growth,
    /// All keys expired within one second.
    Expiry,
    /// FLUSHALL freed all keys.
    Flush,
}

impl Strain {
    /// All strains.
    pub const ALL: [Strain; 4] = [Strain::Nothing, Strain::Growth, Strain::Expiry, Strain::Flush];

    /// Returns the readable name.
    pub fn name(self) -> &'static str {
        match self {
            Strain::Nothing => "idle",
            Strain::Growth => "table grows",
            Strain::Expiry => "all expire",
            Strain::Flush => "FLUSHALL",
        }
    }
}

/// The time for which a server kept a PING waiting. A PING was sent every half millisecond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// The name of the server.
    pub server: String,
    /// The strain on the server.
    pub strain: Strain,
    /// The number of keys.
    pub keys: usize,
    /// The number of PINGs that were sent.
    pub probes: usize,
    /// The median time from when a PING was due to its reply, in µs.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The maximum.
    pub longest_us: f64,
    /// The longest time from when a PING was due to its sending, in µs. The prober itself may have caused that part of
    /// the maximum.
    pub own_longest_us: f64,
}
