//! What the workloads of waiting found, as it is written and read again.

use serde::{Deserialize, Serialize};

/// A way with locks.
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
    /// The readers of Redisson's read-write lock, who all wait behind a writer: its unlock wakes them all.
    Read,
    /// `LOCK.ACQUIRE … SHARED BLOCK`, by all who wait behind a writer.
    NativeRead,
    /// Redisson's semaphore, of one permit: every release wakes every waiter.
    Semaphore,
    /// `SEM.ACQUIRE … BLOCK`, of one permit.
    NativeSemaphore,
}

impl LockKind {
    /// All of them.
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

    /// Whether it takes commands that only Lockwheel has.
    pub fn is_native(self) -> bool {
        use LockKind::*;
        matches!(self, Native | NativeFair | NativeWrite | NativeRead | NativeSemaphore)
    }

    /// Whether one release lets all who wait in.
    pub fn is_shared(self) -> bool {
        matches!(self, LockKind::Read | LockKind::NativeRead)
    }

    /// Its name for people.
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

/// A lock that went from hand to hand while others waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    /// The server.
    pub server: String,
    /// Which way with locks.
    pub kind: LockKind,
    /// How many waited while one held.
    pub waiters: usize,
    /// How many turns were measured.
    pub handoffs: usize,
    /// Requests that all clients together sent in a turn.
    pub requests_each: f64,
    /// Commands that the server ran in a turn, those of scripts included.
    pub commands_each: f64,
    /// Waiters woken in a turn.
    pub wake_ups_each: f64,
    /// From the release to the next holder's knowing, of readers to the last one's, in µs: the median.
    pub p50_us: f64,
    /// The same, the 99th percentile.
    pub p99_us: f64,
    /// The same, the longest.
    pub max_us: f64,
    /// From the release until everybody waited again, in µs: the median.
    pub settled_p50_us: f64,
    /// The server's processor time in a turn, in µs, where its process is known.
    pub cpu_us_each: Option<f64>,
}

/// How late the events of expired keys came, counted from the keys' deadlines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// The server.
    pub server: String,
    /// Keys with deadlines far away that lay beside those that expired.
    pub timers: usize,
    /// Whether the server was busy with GETs and SETs meanwhile.
    pub loaded: bool,
    /// Keys that were to expire.
    pub probes: usize,
    /// Those whose event had not come when the measurement ended: they count as if it had come then.
    pub missing: usize,
    /// Percentiles of the lateness, in µs.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The 99.9th percentile.
    pub p999_us: f64,
    /// The latest.
    pub max_us: f64,
}

/// What a server was doing while it was asked whether it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strain {
    /// Nothing: how far the figures can be trusted.
    Nothing,
    /// The table of keys grew from nothing.
    Growth,
    /// All keys expired within one second.
    Expiry,
    /// FLUSHALL freed all keys.
    Flush,
}

impl Strain {
    /// All of them.
    pub const ALL: [Strain; 4] = [Strain::Nothing, Strain::Growth, Strain::Expiry, Strain::Flush];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Strain::Nothing => "idle",
            Strain::Growth => "table grows",
            Strain::Expiry => "all expire",
            Strain::Flush => "FLUSHALL",
        }
    }
}

/// How long a server kept a PING waiting, asked every half millisecond.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// The server.
    pub server: String,
    /// What it was doing.
    pub strain: Strain,
    /// With how many keys.
    pub keys: usize,
    /// How many PINGs were sent.
    pub probes: usize,
    /// From when a PING was due to its reply, in µs: the median.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The longest.
    pub longest_us: f64,
    /// The longest that a PING left after it was due, in µs: how much of the longest may be the prober's own.
    pub own_longest_us: f64,
}
