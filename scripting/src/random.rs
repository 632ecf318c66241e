//! The generator behind `math.random`: the 48-bit linear congruential one of `drand48`, as in Redis. So a seed gives
//! the same numbers as in Redis, on every platform.

use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;

/// A generator. A new one gives the sequence of a new Redis server, which continues from script to script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const MASK: u64 = (1 << 48) - 1;
/// The low 16 bits of a freshly seeded state.
const SEED_LOW: u64 = 0x330E;

impl Random {
    pub(crate) fn new() -> Random {
        // The initial state of `drand48` without a seed.
        Random::seeded(0x1234_ABCD)
    }

    /// The state after `math.randomseed(seed)`.
    pub(crate) fn seeded(seed: i32) -> Random {
        Random(u64::from(seed.cast_unsigned()) << 16 | SEED_LOW)
    }

    /// The next number, of 31 bits.
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & MASK;
        (self.0 >> 17) as u32
    }

    /// The next number in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        let limit = i32::MAX.cast_unsigned();
        f64::from(self.next() % limit) / f64::from(limit)
    }
}

/// The generator that all interpreters of a server share: a function continues where a script has ended.
///
/// Only one thread at a time uses it.
#[derive(Clone, Debug)]
pub(crate) struct SharedRandom(Arc<AtomicU64>);

impl SharedRandom {
    pub(crate) fn new() -> SharedRandom {
        SharedRandom(Arc::new(AtomicU64::new(Random::new().0)))
    }

    pub(crate) fn get(&self) -> Random {
        Random(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, random: Random) {
        self.0.store(random.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of redis-server 7.0.15: `math.randomseed(n) return {math.random(1000000), …}`.
    #[test]
    fn gives_the_numbers_of_redis() {
        let million = |random: &mut Random| (random.unit() * 1e6).floor() as i64 + 1;
        for (seed, first, second) in [(42, 744_526, 342_702), (-1, 300_026, 45_312), (3, 783_235, 863_674)] {
            let mut random = Random::seeded(seed);
            assert_eq!((million(&mut random), million(&mut random)), (first, second), "seed {seed}");
        }
    }

    #[test]
    fn starts_as_a_new_redis_server_does() {
        let mut random = Random::new();
        let values: [f64; 5] = std::array::from_fn(|_| random.unit());
        for (index, text) in [(0, "0.39646477363839"), (2, "0.35333609737146"), (4, "0.31869277233197")] {
            assert_eq!(format!("{:.14}", values[index]), text);
        }
    }
}
