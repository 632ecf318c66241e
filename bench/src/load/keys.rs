//! The choice of the key of each request.

/// The order of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// At random. With an exponent above 0 some keys are chosen far more often than others (Zipf's law).
    Random {
        /// The exponent. 0: all keys are equally frequent. 1: the second most frequent key is half as frequent as the
        /// first.
        skew: f64,
    },
    /// Each key once, in order. The run ends after the last key.
    Once,
}

/// A small, fast generator of random numbers (xorshift, multiplied). Not for secrets.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator. The same seed gives the same numbers.
    pub fn new(seed: u64) -> Rng {
        // The state must not be zero, and similar seeds must not give similar numbers.
        Rng(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `bound`, which must be above 0.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number from 0 up to, but not including, 1.
    fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The choice of keys for one connection, from its own part of them. Connection `c` of `n` has the keys c, c + n, c +
/// 2n... Therefore no connection changes the replies to another.
#[derive(Clone, Debug)]
pub struct Chooser {
    rng: Rng,
    connection: u64,
    connections: u64,
    /// The number of keys of this connection.
    share: u64,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Uniform,
    Zipf(Zipf),
    /// The index of the next key.
    Once(u64),
}

impl Chooser {
    /// Creates the choice for connection `connection` of `connections`, out of `keys` keys. Each connection has at
    /// least one key.
    pub fn new(order: Order, keys: u64, connection: u64, connections: u64, seed: u64) -> Chooser {
        let share = (keys.saturating_sub(connection)).div_ceil(connections);
        let way = match order {
            Order::Once => Way::Once(0),
            Order::Random { skew } if skew > 0.0 => Way::Zipf(Zipf::new(share.max(1), skew)),
            Order::Random { .. } => Way::Uniform,
        };
        let share = if order == Order::Once { share } else { share.max(1) };
        Chooser { rng: Rng::new(seed ^ connection), connection, connections, share, way }
    }
}

impl Iterator for Chooser {
    type Item = u64;

    /// Returns the next key; `None` if each key was requested once and has been chosen.
    fn next(&mut self) -> Option<u64> {
        let place = match &mut self.way {
            Way::Uniform => self.rng.below(self.share),
            Way::Zipf(zipf) => zipf.sample(&mut self.rng),
            Way::Once(next) => {
                if *next == self.share {
                    return None;
                }
                *next += 1;
                *next - 1
            }
        };
        Some(place * self.connections + self.connection)
    }
}

/// A distribution of numbers below `count`, in which the k-th (from 1) has a frequency of 1 / k^exponent. It rejects
/// samples of a continuous curve above the steps (W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates
/// from monotone discrete distributions", 1996). Constant time and memory.
#[derive(Clone, Debug)]
struct Zipf {
    exponent: f64,
    count: f64,
    /// The integral of the curve up to half a step after the last number, and up to 1.5 less the frequency of the
    /// first.
    area_end: f64,
    area_start: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Zipf {
        let mut zipf = Zipf { exponent, count: count as f64, area_end: 0.0, area_start: 0.0 };
        zipf.area_end = zipf.area(zipf.count + 0.5);
        zipf.area_start = zipf.area(1.5) - 1.0;
        zipf
    }

    /// Returns the integral of x^-exponent, from 1.
    fn area(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { x.ln() } else { (x.powf(power) - 1.0) / power }
    }

    /// Returns the inverse of `area`.
    fn place(&self, area: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { area.exp() } else { (1.0 + area * power).max(0.0).powf(1.0 / power) }
    }

    fn sample(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.area_end + rng.unit() * (self.area_start - self.area_end);
            let number = self.place(area).round().clamp(1.0, self.count);
            if area >= self.area(number + 0.5) - number.powf(-self.exponent) {
                return number as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_parts_of_the_connections_are_all_keys_and_do_not_overlap() {
        for (keys, connections) in [(10, 3), (3, 3), (2, 3), (1000, 7)] {
            let mut met = Vec::new();
            for connection in 0..connections {
                let mut chooser = Chooser::new(Order::Once, keys, connection, connections, 1);
                let own: BTreeSet<u64> = chooser.by_ref().collect();
                if !own.is_empty() {
                    for order in [Order::Random { skew: 0.0 }, Order::Random { skew: 0.9 }] {
                        let mut random = Chooser::new(order, keys, connection, connections, 1);
                        assert!((0..100).all(|_| random.next().is_some_and(|key| own.contains(&key))));
                    }
                }
                met.extend(own);
            }
            met.sort_unstable();
            assert_eq!(met, (0..keys).collect::<Vec<_>>());
        }
    }

    #[test]
    fn frequencies_follow_the_law() {
        const DRAWS: u32 = 400_000;
        for exponent in [0.5, 0.99, 1.0, 1.5] {
            let (zipf, mut rng) = (Zipf::new(100, exponent), Rng::new(3));
            let mut counts = [0u32; 100];
            (0..DRAWS).for_each(|_| counts[zipf.sample(&mut rng) as usize] += 1);
            let total: f64 = (1..=100).map(|k| f64::from(k).powf(-exponent)).sum();
            for k in [1u32, 2, 3, 10, 50, 100] {
                let expected = f64::from(k).powf(-exponent) / total * f64::from(DRAWS);
                let got = f64::from(counts[k as usize - 1]);
                // The tolerance is six standard deviations of a count.
                let allowed = 6.0 * expected.sqrt();
                assert!((got - expected).abs() < allowed, "{exponent}: {k} came {got}, not {expected}");
            }
        }
    }

    #[test]
    fn all_keys_alike_are_met_alike() {
        let mut chooser = Chooser::new(Order::Random { skew: 0.0 }, 8, 0, 1, 5);
        let mut counts = [0u32; 8];
        (0..80_000).for_each(|_| counts[chooser.next().unwrap() as usize] += 1);
        assert!(counts.iter().all(|count| (9_400..10_600).contains(count)), "{counts:?}");
    }
}
