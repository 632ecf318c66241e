//! The clients that have sent requests lately, for those who wait for silence: each request is noted once, however many
//! wait.

use std::collections::BTreeMap;

/// The most names that are kept, and the most bytes of them: with more, all who wait look at them, and they go.
const MAX_NAMES: usize = 1024;
const MAX_NAME_BYTES: usize = 1 << 16;

/// The last requests, in real monotonic milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The number of the last request that was noted.
    seen: u64,
    last_ms: i64,
    /// By the names of the clients, as they were after it.
    by_name: BTreeMap<Box<[u8]>, i64>,
    name_bytes: usize,
    /// How often there were too many names.
    overflows: u64,
}

impl Heard {
    /// The last request has this number; notes it if that is a new one. Its client has a name while it is connected.
    pub(super) fn note(&mut self, request: u64, name: Option<&[u8]>, now_ms: i64) {
        if std::mem::replace(&mut self.seen, request) == request {
            return;
        }
        self.last_ms = now_ms;
        let Some(name) = name else { return };
        if let Some(last_ms) = self.by_name.get_mut(name) {
            *last_ms = now_ms;
            return;
        }
        self.name_bytes += name.len();
        self.by_name.insert(name.into(), now_ms);
        self.overflows += u64::from(self.is_full());
    }

    fn is_full(&self) -> bool {
        self.by_name.len() > MAX_NAMES || self.name_bytes > MAX_NAME_BYTES
    }

    /// How often there were too many names: then all who wait must look at them before they go.
    pub(super) fn overflows(&self) -> u64 {
        self.overflows
    }

    /// All who wait have looked: forgets the names if they are too many.
    pub(super) fn make_room(&mut self) {
        if self.is_full() {
            self.forget();
        }
    }

    /// Nobody waits any more.
    pub(super) fn forget(&mut self) {
        self.by_name.clear();
        self.name_bytes = 0;
    }

    /// When the last request came.
    pub(crate) fn last_ms(&self) -> i64 {
        self.last_ms
    }

    /// When the last request after `since_ms` came of a client whose name is wanted. O(n), n the names.
    pub(crate) fn last_of(&self, since_ms: i64, is_wanted: impl Fn(&[u8]) -> bool) -> Option<i64> {
        let later = self.by_name.iter().filter(|(_, last_ms)| **last_ms > since_ms);
        later.filter(|(name, _)| is_wanted(name)).map(|(_, last_ms)| *last_ms).max()
    }
}
