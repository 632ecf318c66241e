//! The shape of the searched area. The module knows no command.

use super::earth::{Point, PreparedPoint, RADIUS_M, degrees, radians};
use std::f64::consts::FRAC_PI_2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) form: Form,
    /// The length of the form's unit, in meters.
    pub(super) unit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    Circle { radius: f64 },
    Box { width: f64, height: f64 },
}

/// The edges of a shape, in degrees. They may lie beyond the edges of the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) west: f64,
    pub(super) south: f64,
    pub(super) east: f64,
    pub(super) north: f64,
}

impl Shape {
    /// An upper bound of the distance from the center to the farthest point, in meters.
    pub(super) fn reach(self) -> f64 {
        let reach = match self.form {
            Form::Circle { radius } => radius,
            Form::Box { width, height } => {
                ((width / 2.0) * (width / 2.0) + (height / 2.0) * (height / 2.0)).sqrt()
            }
        };
        reach * self.unit
    }

    /// The edges of the shape around a center. The width is that at the edge farther from the equator.
    pub(super) fn bounds(self, center: Point) -> Bounds {
        let (width, height) = match self.form {
            Form::Circle { radius } => (radius, radius),
            Form::Box { width, height } => (width / 2.0, height / 2.0),
        };
        let (width, height) = (self.unit * width, self.unit * height);
        let Point { longitude, latitude } = center;
        let north_south = degrees(height / RADIUS_M);
        let widest = if latitude < 0.0 { latitude - north_south } else { latitude + north_south };
        let west_east = degrees(width / RADIUS_M / radians(widest).cos());
        Bounds {
            west: longitude - west_east,
            south: latitude - north_south,
            east: longitude + west_east,
            north: latitude + north_south,
        }
    }
}

/// The margins, relative and in radians, beyond which rounding cannot matter.
const MARGIN: (f64, f64) = (1.0 + 1e-9, 1e-12);

#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    center: PreparedPoint,
    /// The form, in meters.
    form: Form,
    /// The greatest distances, in radians, of a point's meridian and parallel from the center's.
    offset: (f64, f64),
}

impl Area {
    pub(super) fn new(center: Point, shape: Shape) -> Self {
        let unit = shape.unit;
        let form = match shape.form {
            Form::Circle { radius } => Form::Circle { radius: radius * unit },
            Form::Box { width, height } => Form::Box { width: width * unit, height: height * unit },
        };
        let (meridians, parallels) = extent(form, radians(center.latitude));
        let wide = |limit: f64| limit * MARGIN.0 + MARGIN.1;
        Area { center: PreparedPoint::new(center), form, offset: (wide(meridians), wide(parallels)) }
    }

    /// The distance of a point from the center, in meters; `None` outside of the area. A cheap check excludes most
    /// points; the others are computed as in Redis.
    pub(super) fn distance(&self, point: Point) -> Option<f64> {
        let (meridians, parallels) = self.center.offset(point);
        if parallels > self.offset.1 || meridians > self.offset.0 {
            return None;
        }
        let place = PreparedPoint::new(point);
        match self.form {
            Form::Circle { radius } => {
                Some(self.center.distance(place)).filter(|distance| *distance <= radius)
            }
            Form::Box { width, height } => {
                let is_within = place.between_parallels(self.center) <= height / 2.0
                    && place.distance(self.center.at_latitude_of(place)) <= width / 2.0;
                is_within.then(|| self.center.distance(place))
            }
        }
    }
}

/// The extents of a form in meters, around a center at this latitude, to the east and to the north, in radians. An
/// extent is more than π if the form goes around the world.
fn extent(form: Form, latitude: f64) -> (f64, f64) {
    let (half_width, half_height) = match form {
        Form::Circle { radius } => (radius / RADIUS_M, radius / RADIUS_M),
        Form::Box { width, height } => (width / RADIUS_M / 2.0, height / RADIUS_M / 2.0),
    };
    let farthest = latitude.abs() + half_height;
    let meridians = if farthest >= FRAC_PI_2 {
        f64::INFINITY
    } else {
        // A circle's extent is that of its tangent from the pole. A box's width counts on its shortest parallel.
        let sine = match form {
            Form::Circle { .. } => half_width.min(FRAC_PI_2).sin() / latitude.cos(),
            Form::Box { .. } => (half_width / 2.0).min(FRAC_PI_2).sin() / farthest.cos(),
        };
        let angle = if sine < 1.0 { sine.asin() } else { f64::INFINITY };
        if matches!(form, Form::Box { .. }) { angle * 2.0 } else { angle }
    };
    (meridians, half_height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape() -> impl Strategy<Value = Shape> {
        let length = || prop_oneof![Just(0.0), 0.0..1000.0_f64, 0.0..3e7_f64, Just(f64::INFINITY)];
        let form = prop_oneof![
            length().prop_map(|radius| Form::Circle { radius }),
            (length(), length()).prop_map(|(width, height)| Form::Box { width, height }),
        ];
        (form, prop_oneof![Just(1.0), Just(0.3048)]).prop_map(|(form, unit)| Shape { form, unit })
    }

    fn point() -> impl Strategy<Value = Point> {
        (-180.0..180.0_f64, -85.0..85.0_f64).prop_map(|(longitude, latitude)| Point { longitude, latitude })
    }

    fn naive(center: Point, shape: Shape, point: Point) -> Option<f64> {
        let to = |from: Point, point: Point| PreparedPoint::new(from).distance(PreparedPoint::new(point));
        let unit = shape.unit;
        let is_within = match shape.form {
            Form::Circle { radius } => to(center, point) <= radius * unit,
            Form::Box { width, height } => {
                to(point, Point { longitude: center.longitude, ..point }) <= width * unit / 2.0
                    && to(point, Point { latitude: center.latitude, ..point }) <= height * unit / 2.0
            }
        };
        is_within.then(|| to(center, point))
    }

    proptest! {
        #[test]
        fn the_quick_check_agrees_with_the_exact_one(
            center in point(),
            other in point(),
            shape in shape(),
            near in 0.0..1e-3_f64,
        ) {
            prop_assert_eq!(Area::new(center, shape).distance(other), naive(center, shape, other));
            let next = Point { longitude: center.longitude * (1.0 - near), latitude: center.latitude };
            prop_assert_eq!(Area::new(center, shape).distance(next), naive(center, shape, next));
            let radius = PreparedPoint::new(center).distance(PreparedPoint::new(other));
            let exact = Shape { form: Form::Circle { radius }, unit: 1.0 };
            prop_assert!(Area::new(center, exact).distance(other).is_some());
            prop_assert!(Area::new(center, shape).distance(center) == Some(0.0));
        }
    }
}
