//! What threads meet by, in one place, so that a model can put its own in its stead.

pub(super) use parking_lot::{Mutex, MutexGuard};
pub(super) use std::sync::atomic::{AtomicBool, Ordering, fence};
