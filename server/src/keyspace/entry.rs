//! What the table holds for a key.

use crate::values::{Str, Value};

/// Keys up to this length live inside the entry, without an allocation.
const SHORT: usize = 21;

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    name: Name,
    pub(super) value: Value,
}

/// The bytes of a key, and whether the entry has a deadline: here, where there is room for it.
#[derive(Debug)]
enum Name {
    Short { has_deadline: bool, len: u8, bytes: [u8; SHORT] },
    Long { has_deadline: bool, bytes: Box<[u8]> },
}

// Pages hold these by the million.
const _: () = assert!(size_of::<Entry>() <= 48);

/// What stands at a place that is free.
impl Default for Entry {
    #[inline]
    fn default() -> Self {
        let name = Name::Short { has_deadline: false, len: 0, bytes: [0; SHORT] };
        Entry { name, value: Value::Str(Str::from_i64(0)) }
    }
}

impl Entry {
    pub(super) fn new(key: &[u8], value: Value) -> Self {
        let name = if key.len() <= SHORT {
            let mut bytes = [0; SHORT];
            bytes[..key.len()].copy_from_slice(key);
            Name::Short { has_deadline: false, len: key.len() as u8, bytes }
        } else {
            Name::Long { has_deadline: false, bytes: key.into() }
        };
        Entry { name, value }
    }

    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        match &self.name {
            Name::Short { len, bytes, .. } => &bytes[..usize::from(*len)],
            Name::Long { bytes, .. } => bytes,
        }
    }

    /// Whether the wheel has a timer at the entry's index.
    #[inline]
    pub(super) fn has_deadline(&self) -> bool {
        let (Name::Short { has_deadline, .. } | Name::Long { has_deadline, .. }) = &self.name;
        *has_deadline
    }

    #[inline]
    pub(super) fn mark_deadline(&mut self, has: bool) {
        let (Name::Short { has_deadline, .. } | Name::Long { has_deadline, .. }) = &mut self.name;
        *has_deadline = has;
    }
}
