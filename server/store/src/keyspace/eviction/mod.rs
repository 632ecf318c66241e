//! Eviction: the choice of keys to remove when the server uses more memory than `maxmemory`.

mod choice;
mod pool;
#[cfg(test)]
mod tests;

use super::rng::Rng;
use pool::Pool;

/// The keys that may go, and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionPolicy {
    /// Whether only keys with a deadline may go.
    pub volatile: bool,
    /// The order in which they go.
    pub rank: Rank,
}

/// The order in which keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// First the key that has not been accessed for the longest time: approximately, by samples.
    IdleTime,
    /// First the key that is accessed least often: approximately, by samples.
    Frequency,
    /// First the key whose deadline is nearest: exactly.
    Deadline,
    /// Random keys, of each database in turn.
    Random,
}

/// The rules by which keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionRules {
    /// The keys that may go, and their order.
    pub policy: EvictionPolicy,
    /// The number of keys of a database that are sampled for each key that goes; at least 1.
    pub samples: usize,
}

#[derive(Debug)]
pub(super) struct Eviction {
    /// The policy by which the candidates were ranked.
    policy: Option<EvictionPolicy>,
    candidates: Pool,
    /// The database that the last random key was taken from.
    last_db: usize,
    /// A generator of its own: so the other random choices do not depend on the memory limit.
    rng: Rng,
}

impl Eviction {
    pub(super) fn new(seed: u64) -> Self {
        Eviction {
            policy: None,
            candidates: Pool::default(),
            last_db: 0,
            rng: Rng::new(seed ^ 0x00e5_1c7e_d000),
        }
    }
}
