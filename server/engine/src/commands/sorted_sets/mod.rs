//! Sorted sets.

pub(super) mod blocking;
mod bounds;
pub(super) mod change;
mod pairs;
pub(super) mod pop;
pub(super) mod range;
pub(super) mod read;
