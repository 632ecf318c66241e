//! Synchronization primitives, in one place, so that a model checker can replace them.

pub(super) use parking_lot::{Mutex, MutexGuard};
pub(super) use std::sync::atomic::{AtomicBool, Ordering, fence};
