//! Sorted sets.

pub(super) mod algebra;
pub(super) mod blocking;
mod bounds;
pub(super) mod change;
mod pairs;
pub(super) mod policy;
pub(super) mod pop;
pub(super) mod random;
pub(super) mod range;
pub(super) mod read;
pub(super) mod store;
