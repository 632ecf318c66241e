//! Places: sorted sets whose scores are the cells of a grid on the earth.

mod cell;
mod earth;
mod grid;
mod nearest;
pub(super) mod places;
mod request;
pub(super) mod search;
mod shape;
mod units_before_7;
