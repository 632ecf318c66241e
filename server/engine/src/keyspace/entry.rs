//! What the table holds for a key.

use crate::memory::block;
use crate::values::{Str, Value};

/// Keys up to this length live inside the entry, without an allocation.
const SHORT: usize = 21;

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    name: Name,
    pub(super) value: Value,
}

/// The bytes of a key, and what the entry has beside it: here, where there is room for it.
#[derive(Debug)]
enum Name {
    Short { flags: u8, len: u8, bytes: [u8; SHORT] },
    Long { flags: u8, bytes: Box<[u8]> },
}

/// The wheel has a timer at the entry's index.
const DEADLINE: u8 = 1;
/// A subscriber's mark stands at the entry's index.
const MARKED: u8 = 2;

// Pages hold these by the million.
const _: () = assert!(size_of::<Entry>() <= 48);

/// The content of a free place.
impl Default for Entry {
    #[inline]
    fn default() -> Self {
        let name = Name::Short { flags: 0, len: 0, bytes: [0; SHORT] };
        Entry { name, value: Value::Str(Str::from_i64(0)) }
    }
}

impl Entry {
    pub(super) fn new(key: &[u8], value: Value) -> Self {
        let name = if key.len() <= SHORT {
            let mut bytes = [0; SHORT];
            bytes[..key.len()].copy_from_slice(key);
            Name::Short { flags: 0, len: key.len() as u8, bytes }
        } else {
            Name::Long { flags: 0, bytes: key.into() }
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

    /// Bytes of heap that the key takes outside of the entry. O(1).
    #[inline]
    pub(super) fn key_bytes(&self) -> usize {
        match &self.name {
            Name::Short { .. } => 0,
            Name::Long { bytes, .. } => block(bytes.len()),
        }
    }

    #[inline]
    fn flags(&self) -> u8 {
        let (Name::Short { flags, .. } | Name::Long { flags, .. }) = &self.name;
        *flags
    }

    #[inline]
    fn set_flag(&mut self, flag: u8, has: bool) {
        let (Name::Short { flags, .. } | Name::Long { flags, .. }) = &mut self.name;
        *flags = if has { *flags | flag } else { *flags & !flag };
    }

    /// Whether the wheel has a timer at the entry's index.
    #[inline]
    pub(super) fn has_deadline(&self) -> bool {
        self.flags() & DEADLINE != 0
    }

    #[inline]
    pub(super) fn set_has_deadline(&mut self, has: bool) {
        self.set_flag(DEADLINE, has);
    }

    /// Whether a subscriber's mark stands at the entry's index.
    #[inline]
    pub(super) fn is_marked(&self) -> bool {
        self.flags() & MARKED != 0
    }

    #[inline]
    pub(super) fn set_marked(&mut self, is: bool) {
        self.set_flag(MARKED, is);
    }
}
