//! Eviction: which keys go when there are more bytes than `maxmemory`.

mod choice;
mod pool;
#[cfg(test)]
mod tests;

use super::rng::Rng;
use pool::Pool;

/// Which keys may go, and in what order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionPolicy {
    /// Only keys with a deadline go.
    pub volatile: bool,
    /// Which of them first.
    pub rank: Rank,
}

/// Which key goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The one that nobody has accessed for longest: about, as samples tell.
    IdleTime,
    /// The one that is accessed least often: about, as samples tell.
    Frequency,
    /// The one whose deadline is nearest, exactly.
    Deadline,
    /// Any, of each database in turn.
    Random,
}

/// How keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionRules {
    /// Which keys may go, and in what order.
    pub policy: EvictionPolicy,
    /// How many keys of a database are looked at for each that goes; at least 1.
    pub samples: usize,
}

/// What is remembered between two choices.
#[derive(Debug)]
pub(super) struct Eviction {
    /// The policy by which the candidates were ranked.
    policy: Option<EvictionPolicy>,
    candidates: Pool,
    /// The database that the last random key was taken from.
    last_db: usize,
    /// Apart from the other random choices: these stay as they are, whatever the limit.
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
