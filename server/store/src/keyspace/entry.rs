//! Entries: a key and its value, as the table holds them.

use super::access_clock::AccessClock;
use crate::memory::block;
use crate::values::{Str, Value};
use lockwheel_resp::allocation;
use std::cell::Cell;

/// Keys up to this length live inside the entry, without an allocation.
const SHORT: usize = 19;

#[derive(Debug)]
pub(super) struct Entry {
    name: Name,
    pub(super) value: Value,
}

/// The bytes of a key, its flags, and its access clock, which is in a `Cell` because reading sets it too.
#[derive(Debug)]
enum Name {
    /// The flags stand above the length.
    Short {
        flags: u8,
        clock: Cell<AccessClock>,
        bytes: [u8; SHORT],
    },
    Long {
        flags: u8,
        clock: Cell<AccessClock>,
        bytes: Box<[u8]>,
    },
}

/// The bits of the flags that hold the length of a short key.
const LEN: u8 = 0x1f;
/// Whether the wheel of deadlines has a timer at the entry's index.
const DEADLINE: u8 = 0x20;
/// Whether a subscriber's mark is kept at the entry's index.
const MARKED: u8 = 0x40;
/// Whether the wheel of timed hashes (hashes whose fields have deadlines) has a timer at the entry's index.
const FIELDS: u8 = 0x80;

const _: () = assert!(SHORT <= LEN as usize);

// Pages hold millions of entries.
const _: () = assert!(size_of::<Entry>() <= 48);

/// The content of a free slot.
impl Default for Entry {
    #[inline]
    fn default() -> Self {
        let name = Name::Short { flags: 0, clock: Cell::default(), bytes: [0; SHORT] };
        Entry { name, value: Value::Str(Str::from_i64(0)) }
    }
}

impl Entry {
    pub(super) fn new(key: &[u8], value: Value, clock: AccessClock) -> Self {
        let clock = Cell::new(clock);
        let name = if key.len() <= SHORT {
            let mut bytes = [0; SHORT];
            bytes[..key.len()].copy_from_slice(key);
            Name::Short { flags: key.len() as u8, clock, bytes }
        } else {
            Name::Long { flags: 0, clock, bytes: allocation::copy(key) }
        };
        Entry { name, value }
    }

    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        match &self.name {
            Name::Short { flags, bytes, .. } => &bytes[..usize::from(flags & LEN)],
            Name::Long { bytes, .. } => bytes,
        }
    }

    /// Bytes of heap that the key takes outside the entry. O(1).
    #[inline]
    pub(super) fn key_bytes(&self) -> usize {
        match &self.name {
            Name::Short { .. } => 0,
            Name::Long { bytes, .. } => block(bytes.len()),
        }
    }

    /// The clock of the key's last access or access frequency.
    #[inline]
    pub(super) fn clock(&self) -> &Cell<AccessClock> {
        let (Name::Short { clock, .. } | Name::Long { clock, .. }) = &self.name;
        clock
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

    #[inline]
    pub(super) fn has_deadline(&self) -> bool {
        self.flags() & DEADLINE != 0
    }

    #[inline]
    pub(super) fn set_has_deadline(&mut self, has: bool) {
        self.set_flag(DEADLINE, has);
    }

    /// Whether either wheel has a timer at the entry's index.
    #[inline]
    pub(super) fn has_timers(&self) -> bool {
        self.flags() & (DEADLINE | FIELDS) != 0
    }

    /// Whether the wheel of timed hashes has a timer at the entry's index.
    #[inline]
    pub(super) fn has_timed_fields(&self) -> bool {
        self.flags() & FIELDS != 0
    }

    #[inline]
    pub(super) fn set_has_timed_fields(&mut self, has: bool) {
        self.set_flag(FIELDS, has);
    }

    #[inline]
    pub(super) fn is_marked(&self) -> bool {
        self.flags() & MARKED != 0
    }

    #[inline]
    pub(super) fn set_marked(&mut self, is: bool) {
        self.set_flag(MARKED, is);
    }
}
