//! What the table holds for a key.

use crate::time::TimerId;
use crate::values::Value;

/// A key, its value and the timer of its deadline.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Box<[u8]>,
    pub(super) value: Value,
    pub(super) timer: Option<TimerId>,
}
