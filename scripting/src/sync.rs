//! What threads meet by, in one place, so that a model can put its own in its stead.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
