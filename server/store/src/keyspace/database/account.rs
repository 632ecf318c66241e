//! The memory of a database, and the size that a value was counted with before a change in place.

use crate::memory::block;
use crate::values::Value;

/// The value that may be changed in place. Its new size is read when another value becomes the edited one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edited {
    /// The number of its entry plus 1. 0: no value is edited.
    pub(super) id: u32,
    /// The counted length, as long as the value is one block; otherwise its counted bytes are `before_bytes`.
    pub(super) before: Option<usize>,
    before_bytes: usize,
}

impl Edited {
    #[inline]
    pub(super) fn of(id: u32, value: &Value) -> Self {
        let before = value.block_len();
        let before_bytes = if before.is_none() { value.heap_bytes() } else { 0 };
        Edited { id: id + 1, before, before_bytes }
    }

    /// Bytes of heap that the value was counted with.
    pub(super) fn bytes(self) -> usize {
        self.before.map_or(self.before_bytes, block)
    }
}

/// The memory of a database, in bytes of heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseBytes {
    /// Keys and values.
    pub data: usize,
    /// The tables and the deadlines.
    pub overhead: usize,
}
