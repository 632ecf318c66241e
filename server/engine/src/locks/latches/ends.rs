//! The ends of latches that clients wait for. The keyspace no longer shows these ends when the clients are retried.

use lockwheel_store::keyspace::{Cause, Change, Context, DbKey, Interests, Removal, Subscriber, What};
use lockwheel_store::values::Value;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LatchEnd {
    Zero,
    /// The latch was deleted, moved away, flushed or evicted.
    Deleted,
    Expired,
}

impl LatchEnd {
    pub(super) fn name(self) -> &'static str {
        match self {
            LatchEnd::Zero => "zero",
            LatchEnd::Deleted => "deleted",
            LatchEnd::Expired => "expired",
        }
    }

    /// Returns how a latch of this value ended when a command removed it.
    fn by_command(value: &Value) -> Option<Self> {
        let Value::Str(text) = value else { return None };
        let is_zero = text.to_i64().is_some_and(|count| count <= 0);
        Some(if is_zero { LatchEnd::Zero } else { LatchEnd::Deleted })
    }
}

/// The first end of each latch since the last client began to wait for it.
#[derive(Debug)]
pub(crate) struct LatchEnds {
    ends: BTreeMap<DbKey, LatchEnd>,
    /// The number of ends at which those without a waiter are dropped.
    most: usize,
    /// The bytes of names at which ends without a waiter are dropped.
    most_bytes: usize,
    name_bytes: usize,
    /// Whether any client has ever waited for a latch. Before that no end is of interest.
    is_awaited: bool,
}

impl Default for LatchEnds {
    fn default() -> Self {
        LatchEnds {
            ends: BTreeMap::new(),
            most: Self::FEW,
            most_bytes: Self::FEW_BYTES,
            name_bytes: 0,
            is_awaited: false,
        }
    }
}

impl LatchEnds {
    /// The number of ends that are kept without a look at the waiters.
    const FEW: usize = 64;
    /// The bytes of their names that are kept without such a look.
    const FEW_BYTES: usize = 64 << 10;

    /// Returns how the latch has ended since the last client began to wait for it. O(log n).
    pub(super) fn get(&self, db: usize, key: &[u8]) -> Option<LatchEnd> {
        if self.ends.is_empty() {
            return None;
        }
        self.ends.get(&(db, key.into())).copied()
    }

    /// Forgets the end of a latch when a client begins to wait for it: earlier waiters have been served. Returns
    /// whether no client has waited before, so that the interests of this subscriber change. O(log n).
    pub(super) fn forget(&mut self, db: usize, key: &[u8]) -> bool {
        if self.ends.remove(&(db, key.into())).is_some() {
            self.name_bytes -= key.len();
        }
        !std::mem::replace(&mut self.is_awaited, true)
    }

    fn note(&mut self, db: usize, key: &[u8], end: LatchEnd, context: &Context<'_>) {
        if !context.is_waited_for_in(db, key) {
            return;
        }
        if self.ends.len() >= self.most || self.name_bytes >= self.most_bytes {
            self.forget_unawaited(context);
        }
        self.ends.entry((db, key.into())).or_insert_with(|| {
            self.name_bytes += key.len();
            end
        });
    }

    /// Forgets the ends of latches without a waiter. O(n).
    pub(in crate::locks) fn forget_unawaited(&mut self, context: &Context<'_>) {
        self.ends.retain(|(db, key), _| context.is_waited_for_in(*db, key));
        self.most = Self::FEW.max(2 * self.ends.len());
        self.name_bytes = self.ends.keys().map(|(_, key)| key.len()).sum();
        self.most_bytes = Self::FEW_BYTES.max(2 * self.name_bytes);
    }

    #[inline(never)]
    fn removed(&mut self, change: &Change<'_>, removal: Removal<'_>, context: &Context<'_>) {
        let end = match removal.cause {
            Cause::Command => LatchEnd::by_command(removal.value),
            Cause::Eviction => Some(LatchEnd::Deleted),
            Cause::Deadline { .. } => Some(LatchEnd::Expired),
            // Another value replaces this one, and the clients continue to wait for it.
            Cause::Overwrite => None,
        };
        if let Some(end) = end {
            self.note(change.db, change.key, end, context);
        }
    }
}

impl Subscriber for LatchEnds {
    fn interests(&self) -> Interests {
        if self.is_awaited { Interests::VALUES } else { Interests::NONE }
    }

    fn memory(&self) -> usize {
        self.ends.len() * size_of::<(DbKey, LatchEnd)>() + self.name_bytes
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        match *change.what {
            What::Removed(removal) if matches!(removal.value, Value::Str(_)) => {
                self.removed(change, removal, context);
            }
            What::Copied { at, from_db, from, moved: true, .. } => {
                if matches!(context.value(at), Value::Str(_)) {
                    self.note(from_db, from, LatchEnd::Deleted, context);
                }
            }
            What::Flushed(flushed) => {
                for (key, _) in flushed.waited_for().filter(|(_, gone)| matches!(gone.value, Value::Str(_))) {
                    self.note(change.db, key, LatchEnd::Deleted, context);
                }
            }
            _ => {}
        }
    }
}
