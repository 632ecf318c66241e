//! Client-side caching: keys that clients have read, prefixes that they listen to, and who is notified of changes.

mod invalidation;
mod mode;
mod overlap;
mod prefixes;
mod request;
mod table;
mod tracker;
mod tracking_clients;

pub(crate) use invalidation::{Invalidation, write_broken_redirect};
pub(crate) use mode::{Caching, TrackedClient, TrackingMode};
pub(crate) use request::TrackingRequest;
pub(crate) use tracker::{HeldNews, Tracker, TrackingLimit};
pub(crate) use tracking_clients::{Recipient, Tracking, tracked};
