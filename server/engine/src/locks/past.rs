//! The memory of past holds, latches and tokens, for the engine.

use super::fences::Fences;
use super::latches::LatchEnds;
use super::records::LockRecords;
use lockwheel_store::keyspace::{Keyspace, Subscriber};

/// Returns the bytes that the memories of ended holds and latches take. O(1).
pub(crate) fn past_bytes(keyspace: &Keyspace) -> usize {
    let records = LockRecords::in_keyspace(keyspace).map_or(0, LockRecords::past_bytes);
    records + keyspace.subscriber().map_or(0, LatchEnds::memory)
}

/// Forgets how holds and latches have ended, to free memory, but not ends of latches that clients wait for.
pub(crate) fn forget_past(keyspace: &mut Keyspace) {
    if let Some(records) = LockRecords::in_keyspace_mut(keyspace) {
        records.forget_past();
    }
    if let Some((ends, context)) = keyspace.subscriber_mut::<LatchEnds>(0) {
        ends.forget_unawaited(&context);
    }
}

/// Returns the bytes of the highest tokens. They stand for other systems, so keys never need this memory. O(1).
pub(crate) fn fence_bytes(keyspace: &Keyspace) -> usize {
    keyspace.subscriber().map_or(0, Fences::bytes)
}

/// Returns the bytes that no key can displace: the tokens of resources, and what clients have had recorded. O(1).
pub(crate) fn bytes_apart_from_keys(keyspace: &Keyspace) -> usize {
    fence_bytes(keyspace) + LockRecords::in_keyspace(keyspace).map_or(0, LockRecords::recorded_bytes)
}
