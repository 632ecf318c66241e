//! The random draws of a rule. They depend only on the seed and the rule's name, so other rules do not change them.

use lockwheel_store::keyspace::Rng;

/// A probability, and the random draws that decide it.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    /// The probability, from 0 to 1.
    chance: f64,
    rng: Rng,
}

impl Draws {
    pub(super) fn new(chance: f64, seed: u64, name: &[u8]) -> Self {
        // Generators with adjacent seeds yield unrelated numbers.
        let mix = |state: u64, byte: &u8| Rng::new(state ^ u64::from(*byte)).next_u64();
        Draws { chance, rng: Rng::new(name.iter().fold(Rng::new(seed).next_u64(), mix)) }
    }

    /// Starts again with another seed.
    pub(super) fn restart(&mut self, seed: u64, name: &[u8]) {
        *self = Draws::new(self.chance, seed, name);
    }

    /// Returns a random number from `least` to `most`, inclusive.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least.saturating_add(self.rng.below(most.saturating_sub(least).saturating_add(1)))
    }

    pub(super) fn draw(&mut self) -> bool {
        /// The number of distinct values of a draw.
        const RANGE: u64 = 1 << 53;
        ((self.rng.below(RANGE)) as f64) < self.chance * RANGE as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(chance: f64, seed: u64, name: &str) -> Vec<bool> {
        let mut draws = Draws::new(chance, seed, name.as_bytes());
        (0..1000).map(|_| draws.draw()).collect()
    }

    #[test]
    fn a_draw_depends_only_on_the_seed_and_the_name() {
        assert_eq!(drawn(0.5, 7, "a"), drawn(0.5, 7, "a"));
        assert_ne!(drawn(0.5, 7, "a"), drawn(0.5, 8, "a"));
        assert_ne!(drawn(0.5, 7, "a"), drawn(0.5, 7, "b"));
        assert_ne!(drawn(0.5, 7, "ab"), drawn(0.5, 7, "ba"));
    }

    #[test]
    fn draws_have_the_given_probability() {
        for (chance, least, most) in [(0.0, 0, 0), (0.1, 60, 140), (0.5, 440, 560), (1.0, 1000, 1000)] {
            let hits = drawn(chance, 7, "rule").into_iter().filter(|hit| *hit).count();
            assert!((least..=most).contains(&hits), "{chance}: {hits}");
        }
    }
}
