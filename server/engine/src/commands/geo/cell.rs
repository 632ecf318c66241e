//! The cells of a grid that halves the world step by step, and their numbers. The module knows no command.
//!
//! The bits of a cell's number are of the longitude and the latitude in turn. Scores of members are cells of 26 steps.
//! The arithmetic is Redis', also beyond the grid's edge: at longitude 180, and for scores that are no cells.

use super::earth::Point;

/// Steps of the finest grid: 52 bits, all of which a double holds.
pub(super) const MAX_STEPS: u32 = 26;

/// The ranges of coordinates that a grid divides.
#[derive(Clone, Copy, Debug)]
pub(super) struct World {
    longitude: (f64, f64),
    latitude: (f64, f64),
}

/// The world of Web Mercator, which the grid of scores divides.
pub(super) const MERCATOR: World =
    World { longitude: (-180.0, 180.0), latitude: (-85.051_128_78, 85.051_128_78) };
/// The whole world, which the grid of geohash texts divides.
const WHOLE: World = World { longitude: (-180.0, 180.0), latitude: (-90.0, 90.0) };

impl World {
    pub(super) fn contains(self, point: Point) -> bool {
        let within = |value: f64, (min, max): (f64, f64)| (min..=max).contains(&value);
        within(point.longitude, self.longitude) && within(point.latitude, self.latitude)
    }
}

/// The edges of a cell, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edges {
    pub(super) west: f64,
    pub(super) south: f64,
    pub(super) east: f64,
    pub(super) north: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    bits: u64,
    /// The number of times that the world was halved in either direction, from 1 to [`MAX_STEPS`].
    steps: u32,
}

impl Cell {
    pub(super) fn of(point: Point, world: World, steps: u32) -> Self {
        let column = |value: f64, (min, max): (f64, f64)| {
            let share = (value - min) / (max - min);
            (share * f64::from(1_u32 << steps)) as u32
        };
        let x = column(point.longitude, world.longitude);
        let y = column(point.latitude, world.latitude);
        Cell { bits: interleave(x, y), steps }
    }

    /// The cell of a member's score. Scores that fit no integer are converted as a C compiler does.
    pub(super) fn of_score(score: f64) -> Self {
        const HALF: f64 = 9_223_372_036_854_775_808.0;
        let bits =
            if score < HALF { truncated(score) as u64 } else { truncated(score - HALF) as u64 ^ 1 << 63 };
        Cell { bits, steps: MAX_STEPS }
    }

    /// The score of a member in this cell of the finest grid.
    pub(super) fn score(self) -> f64 {
        self.bits as f64
    }

    pub(super) fn scores(self) -> (f64, f64) {
        let finer = 2 * (MAX_STEPS - self.steps);
        ((self.bits << finer) as f64, ((self.bits + 1) << finer) as f64)
    }

    /// The cell `east` columns to the east and `north` rows to the north. Each number is -1, 0 or 1; negative means
    /// west or south. Beyond the edge of the world it wraps around, at the poles too.
    pub(super) fn neighbour(self, east: i8, north: i8) -> Self {
        let last = (1_u32 << self.steps) - 1;
        let next = |at: u32, by: i8| if by == 0 { at } else { at.wrapping_add_signed(by.into()) & last };
        let (x, y) = deinterleave(self.bits);
        Cell { bits: interleave(next(x, east), next(y, north)), ..self }
    }

    pub(super) fn edges(self) -> Edges {
        let (x, y) = deinterleave(self.bits);
        // The step is a power of two, so the product is as exact as a quotient.
        let step = 1.0 / f64::from(1_u32 << self.steps);
        let edge = |at: u32, (min, max): (f64, f64)| min + f64::from(at) * step * (max - min);
        let World { longitude, latitude } = MERCATOR;
        Edges {
            west: edge(x, longitude),
            east: edge(x.wrapping_add(1), longitude),
            south: edge(y, latitude),
            north: edge(y.wrapping_add(1), latitude),
        }
    }

    pub(super) fn middle(self) -> Point {
        let Edges { west, south, east, north } = self.edges();
        let middle = |low: f64, high: f64, (min, max): (f64, f64)| f64::midpoint(low, high).clamp(min, max);
        Point {
            longitude: middle(west, east, MERCATOR.longitude),
            latitude: middle(south, north, MERCATOR.latitude),
        }
    }

    /// The geohash of the cell's middle: eleven letters and digits, the last of which is always `0`.
    pub(super) fn geohash(self) -> [u8; 11] {
        const DIGITS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
        let bits = Cell::of(self.middle(), WHOLE, MAX_STEPS).bits;
        let mut text = [b'0'; 11];
        // Ten digits of 5 bits are taken from the 52 bits.
        for (place, digit) in text.iter_mut().take(10).enumerate() {
            let shift = 2 * MAX_STEPS as usize - 5 * (place + 1);
            *digit = DIGITS[(bits >> shift & 0x1f) as usize];
        }
        text
    }
}

/// Converts a double to a 64-bit integer as x86-64 does: without the fraction, and to the lowest integer if none fits.
pub(super) fn truncated(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

/// Interleaves the bits of both numbers, with those of `y` at even places. Bit 0 is the lowest.
fn interleave(x: u32, y: u32) -> u64 {
    spread(y) | spread(x) << 1
}

/// The reverse of [`interleave`].
fn deinterleave(bits: u64) -> (u32, u32) {
    (gather(bits >> 1), gather(bits))
}

/// Masks of groups of 1, 2, 4, 8 and 16 bits, with as many zeros between the groups.
const GROUPS: [u64; 5] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
];

/// Inserts a zero after every bit.
fn spread(value: u32) -> u64 {
    GROUPS
        .iter()
        .enumerate()
        .rev()
        .fold(u64::from(value), |bits, (at, mask)| (bits | bits << (1 << at)) & mask)
}

/// Joins the bits at even places.
fn gather(bits: u64) -> u32 {
    let joined = GROUPS.iter().enumerate().fold(bits, |bits, (at, mask)| {
        let bits = bits & mask;
        bits | bits >> (1 << at)
    });
    // The upper half is a remainder of the last step.
    joined as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(longitude: f64, latitude: f64) -> Point {
        Point { longitude, latitude }
    }

    #[test]
    fn scores_and_geohashes_equal_those_of_the_real_server() {
        for (longitude, latitude, score, geohash) in [
            (13.361389, 38.115556, 3_479_099_956_230_698.0, b"sqc8b49rny0"),
            (15.087269, 37.502669, 3_479_447_370_796_909.0, b"sqdtr74hyu0"),
            (-180.0, -85.051_128_78, 0.0, b"00bh0hbj200"),
            (180.0, 85.051_128_78, 13_510_798_882_111_488.0, b"bp05b5048p0"),
        ] {
            let cell = Cell::of(point(longitude, latitude), MERCATOR, MAX_STEPS);
            assert_eq!(cell.score(), score);
            assert_eq!(Cell::of_score(score), cell);
            assert_eq!(&cell.geohash(), geohash);
        }
    }

    #[test]
    fn any_score_can_be_read_as_a_position() {
        let middle = |score: f64| Cell::of_score(score).middle();
        let (west, south) = (-179.999_997_317_790_99, -85.051_127_512_639_43);
        for (score, expected) in [
            (-1.0, point(180.0, 85.051_128_78)),
            (1e20, point(west, south)),
            (f64::INFINITY, point(west, south)),
            (f64::NEG_INFINITY, point(180.0, south)),
            (9_223_372_036_854_775_808.0, point(180.0, south)),
            (18_446_744_073_709_551_616.0, point(west, south)),
            (-0.5, point(west, south)),
        ] {
            assert_eq!(middle(score), expected, "{score}");
        }
    }

    #[test]
    fn numbers_beyond_an_integer_are_the_lowest() {
        let lowest = i64::MIN;
        assert_eq!([1.9, -1.9, 1e19, -1e19].map(truncated), [1, -1, lowest, lowest]);
        assert_eq!([f64::INFINITY, f64::NAN, -9_223_372_036_854_775_808.0].map(truncated), [lowest; 3]);
    }

    #[test]
    fn the_cells_wrap_around_the_date_line() {
        let cell = Cell::of(point(179.0, 85.0), MERCATOR, 5);
        assert!(cell.neighbour(1, 0).edges().west < -179.0);
        assert!(cell.neighbour(0, 1).edges().south < -85.0);
        assert_eq!(cell.neighbour(1, 1).neighbour(-1, -1), cell);
    }

    proptest! {
        #[test]
        fn interleaving_alternates_the_bits(x: u32, y: u32) {
            let naive = (0..32).fold(0_u64, |bits, at| {
                bits | u64::from(x >> at & 1) << (2 * at + 1) | u64::from(y >> at & 1) << (2 * at)
            });
            prop_assert_eq!(interleave(x, y), naive);
            prop_assert_eq!(deinterleave(naive), (x, y));
        }

        #[test]
        fn a_cell_contains_its_point(
            longitude in -180.0..180.0_f64,
            latitude in -85.0..85.0_f64,
            steps in 1..=MAX_STEPS,
        ) {
            let cell = Cell::of(point(longitude, latitude), MERCATOR, steps);
            let Edges { west, south, east, north } = cell.edges();
            let hair = 1e-12;
            prop_assert!(west - hair <= longitude && longitude <= east + hair);
            prop_assert!(south - hair <= latitude && latitude <= north + hair);
            let (low, beyond) = cell.scores();
            let score = Cell::of(point(longitude, latitude), MERCATOR, MAX_STEPS).score();
            prop_assert!(low <= score && score < beyond);
            let next = cell.neighbour(1, 0);
            prop_assert!(next.edges().west == east || next.edges().west == -180.0);
            prop_assert_eq!(next.neighbour(-1, 0), cell);
        }
    }
}
