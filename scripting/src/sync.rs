//! Synchronization primitives, in one place, so that a model checker can replace them.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
