//! Client-side caching: which clients have read which keys, who wants to know of changes to keys that begin like this,
//! and who is told when a key changes.

mod mode;
mod overlap;
mod prefixes;
mod table;
mod tracker;

pub(crate) use mode::{Caching, TrackedClient, TrackingMode};
pub(crate) use overlap::{Overlap, find_overlap};
pub(crate) use prefixes::ChangedKeys;
pub(crate) use tracker::{HeldNews, Limit, Tracker};
