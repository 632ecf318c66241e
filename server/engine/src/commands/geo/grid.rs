//! The cells that are searched for an area. The module knows no command.

use super::cell::{Cell, MAX_STEPS, MERCATOR};
use super::earth::Point;
use super::shape::{Bounds, Shape};

/// Half the width of the world of Web Mercator, in meters.
const HALF_WORLD_M: f64 = 20_037_726.37;

/// A cell and its neighbours, as columns east and rows north, in Redis' order, which unsorted results show.
const ORDER: [(i8, i8); 9] = [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)];

/// The cells that together cover a shape around a center: the cell of the center, and its neighbours that the shape may
/// reach. On coarse grids some neighbours are the same cell, which is returned once.
pub(super) fn covering(center: Point, shape: Shape) -> impl Iterator<Item = Cell> {
    let bounds = shape.bounds(center);
    let mut steps = steps_for(shape.reach(), center.latitude);
    let mut own = Cell::of(center, MERCATOR, steps);
    if steps > 1 && !reaches(own, bounds) {
        steps -= 1;
        own = Cell::of(center, MERCATOR, steps);
    }
    let is_needed = needed(own, bounds, steps);
    let mut last = None;
    let cells = ORDER.into_iter().filter(is_needed).map(move |(east, north)| own.neighbour(east, north));
    cells.filter(move |cell| last.replace(*cell) != Some(*cell))
}

/// The number of steps of a grid in which a cell with its neighbours mostly covers `reach_m` meters around a center.
fn steps_for(reach_m: f64, latitude: f64) -> u32 {
    if reach_m == 0.0 {
        return MAX_STEPS;
    }
    let (mut steps, mut reach) = (-1, reach_m);
    // More steps would be beyond the finest grid anyway.
    while reach < HALF_WORLD_M && steps <= MAX_STEPS as i32 + 2 {
        reach *= 2.0;
        steps += 1;
    }
    // Near the poles the meridians are closer to each other.
    if latitude.abs() > 66.0 {
        steps -= 1;
    }
    if latitude.abs() > 80.0 {
        steps -= 1;
    }
    steps.clamp(1, MAX_STEPS as i32) as u32
}

/// Whether a cell's neighbours reach all edges of the shape.
fn reaches(own: Cell, bounds: Bounds) -> bool {
    let edges = |east, north| own.neighbour(east, north).edges();
    let is_short = edges(0, 1).north < bounds.north
        || edges(0, -1).south > bounds.south
        || edges(1, 0).east < bounds.east
        || edges(-1, 0).west > bounds.west;
    !is_short
}

/// Whether a neighbour may have a part of the shape: not on a side where the cell reaches beyond the shape.
fn needed(own: Cell, bounds: Bounds, steps: u32) -> impl Fn(&(i8, i8)) -> bool {
    let edges = own.edges();
    // On the coarsest grid the neighbours on opposite sides are the same cells.
    let is_fine = steps >= 2;
    let skips = [
        (is_fine && edges.south < bounds.south, (0, -1)),
        (is_fine && edges.north > bounds.north, (0, 1)),
        (is_fine && edges.west < bounds.west, (-1, 0)),
        (is_fine && edges.east > bounds.east, (1, 0)),
    ];
    move |&(east, north)| {
        let is_skipped = |side: (i8, i8)| (side.0 != 0 && side.0 == east) || (side.1 != 0 && side.1 == north);
        !skips.iter().any(|&(skip, side)| skip && is_skipped(side))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::geo::shape::{Area, Form};
    use proptest::prelude::*;

    #[test]
    fn the_grid_has_the_precision_of_the_real_server() {
        for (reach, latitude, steps) in [
            (0.0, 0.0, 26),
            (5e-324, 0.0, 26),
            (0.001, 0.0, 26),
            (1.0, 0.0, 24),
            (200_000.0, 38.0, 6),
            (200_000.0, 67.0, 5),
            (200_000.0, -81.0, 4),
            (1e7, 0.0, 1),
            (f64::INFINITY, 0.0, 1),
        ] {
            assert_eq!(steps_for(reach, latitude), steps, "{reach} at {latitude}");
        }
    }

    proptest! {
        /// If the area crosses no edge of the world, Redis finds all of its points.
        #[test]
        fn the_cells_cover_the_area(
            center in (-100.0..100.0_f64, -50.0..50.0_f64),
            radius in 1.0..1e6_f64,
            direction in 0.0..std::f64::consts::TAU,
            share in 0.0..1.0_f64,
        ) {
            let center = Point { longitude: center.0, latitude: center.1 };
            let shape = Shape { form: Form::Circle { radius }, unit: 1.0 };
            let degrees = radius * share / 111_000.0;
            let point = Point {
                longitude: center.longitude + degrees * direction.sin(),
                latitude: center.latitude + degrees * direction.cos(),
            };
            prop_assume!(Area::new(center, shape).distance(point).is_some());
            let score = Cell::of(point, MERCATOR, MAX_STEPS).score();
            let covers = |cell: Cell| (cell.scores().0..cell.scores().1).contains(&score);
            prop_assert_eq!(covering(center, shape).filter(|cell| covers(*cell)).count(), 1);
        }

        #[test]
        fn no_cell_occurs_twice(
            longitude in -180.0..=180.0_f64,
            latitude in -85.05..85.05_f64,
            reach in prop_oneof![0.0..10.0_f64, 0.0..1e5_f64, 0.0..1e8_f64],
        ) {
            let long = Form::Box { width: reach, height: 1e8 / (1.0 + reach) };
            for form in [Form::Circle { radius: reach }, long] {
                let shape = Shape { form, unit: 1.0 };
                let cells: Vec<Cell> = covering(Point { longitude, latitude }, shape).collect();
                for (at, cell) in cells.iter().enumerate() {
                    prop_assert!(!cells[..at].contains(cell));
                }
            }
        }
    }
}
