//! Points on the earth and the distances between them. The module knows no command.

use std::f64::consts::PI;

/// The earth's radius in meters: the quadratic mean of WGS 84.
pub(super) const RADIUS_M: f64 = 6_372_797.560856;
/// Radians in a degree.
const DEGREE: f64 = PI / 180.0;

pub(super) fn radians(degrees: f64) -> f64 {
    degrees * DEGREE
}

pub(super) fn degrees(radians: f64) -> f64 {
    radians / DEGREE
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The longitude, from -180 to 180.
    pub(super) longitude: f64,
    /// The latitude, from -85.05112878 to 85.05112878.
    pub(super) latitude: f64,
}

/// A point prepared for distances: in radians, with the cosine of the latitude, which is expensive to compute.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreparedPoint {
    longitude: f64,
    latitude: f64,
    cosine: f64,
}

impl PreparedPoint {
    pub(super) fn new(point: Point) -> Self {
        let latitude = radians(point.latitude);
        PreparedPoint { longitude: radians(point.longitude), latitude, cosine: latitude.cos() }
    }

    /// The place on this place's meridian and on the other's parallel.
    pub(super) fn at_latitude_of(self, other: PreparedPoint) -> PreparedPoint {
        PreparedPoint { longitude: self.longitude, ..other }
    }

    /// The distance along a great circle, in meters, by the haversine formula. The steps and their order are those of
    /// Redis, because stored distances show the last digits.
    pub(super) fn distance(self, other: PreparedPoint) -> f64 {
        if self.longitude == other.longitude {
            return self.between_parallels(other);
        }
        let u = ((other.latitude - self.latitude) / 2.0).sin();
        let v = ((other.longitude - self.longitude) / 2.0).sin();
        let haversine = u * u + self.cosine * other.cosine * v * v;
        // Rounding may result in a little more than 1, whose arc sine is NaN.
        2.0 * RADIUS_M * haversine.sqrt().min(1.0).asin()
    }

    /// The distance between the two places' parallels, in meters.
    pub(super) fn between_parallels(self, other: PreparedPoint) -> f64 {
        RADIUS_M * (other.latitude - self.latitude).abs()
    }

    /// The distances of a point's meridian and parallel from those of this place, in radians, from 0 to π.
    pub(super) fn offset(self, point: Point) -> (f64, f64) {
        let around = (radians(point.longitude) - self.longitude).abs();
        (around.min(2.0 * PI - around), (radians(point.latitude) - self.latitude).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place(longitude: f64, latitude: f64) -> PreparedPoint {
        PreparedPoint::new(Point { longitude, latitude })
    }

    #[test]
    fn distances_equal_those_of_the_real_server() {
        let palermo = place(13.361_389_338_970_184, 38.115_556_395_496_3);
        let catania = place(15.087_267_458_438_873, 37.502_668_423_331_62);
        assert_eq!(palermo.distance(catania), 166_274.151_569_600_33);
        assert_eq!(catania.distance(palermo), 166_274.151_569_600_33);
        assert_eq!(palermo.distance(palermo), 0.0);
    }

    #[test]
    fn the_antipode_is_half_a_circumference_away() {
        let half = PI * RADIUS_M;
        for latitude in [-85.0, -45.3, 0.0, 12.7, 80.1] {
            let distance = place(-100.0, latitude).distance(place(80.0, -latitude));
            assert!((distance - half).abs() < 0.5, "{latitude}: {distance}");
        }
    }

    proptest! {
        #[test]
        fn no_distance_is_shorter_than_between_the_parallels(
            from in (-180.0..180.0_f64, -85.0..85.0_f64),
            to in (-180.0..180.0_f64, -85.0..85.0_f64),
        ) {
            let point = Point { longitude: to.0, latitude: to.1 };
            let (from, to) = (place(from.0, from.1), PreparedPoint::new(point));
            let distance = from.distance(to);
            prop_assert_eq!(distance, to.distance(from));
            let (_, parallels) = from.offset(point);
            prop_assert!(parallels * RADIUS_M <= distance * (1.0 + 1e-9) + 1e-6);
        }
    }
}
