//! The changes of the master in the stream that replicas get.

use super::effect::ReplicationEffect;
use super::state::Replication;
use crate::clients::Sessions;
use crate::propagation::Unit;
use lockwheel_resp::allocation;
use lockwheel_store::memory::BufferBytes;

/// The most memory that is kept for encoding the next unit, in bytes.
const MAX_ENCODED_BYTES: usize = 64 << 10;

impl Replication {
    /// Appends the requests of a unit to the stream and sends them. Returns `None` if there is no memory for them, or
    /// was none for a request of the unit. Nothing is sent then. Replicas of this program are told of `last_grant`, the
    /// number of the last grant, so that one that becomes a master gives higher fencing tokens. O(bytes).
    pub(crate) fn send_unit(
        &mut self,
        unit: &Unit,
        last_grant: u64,
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Option<Vec<ReplicationEffect>> {
        if !self.has_stream() {
            return Some(Vec::new());
        }
        if unit.is_incomplete() {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.encoded);
        bytes.clear();
        let annotation = if self.for_7_0 { None } else { self.reserved_grants.reserve(last_grant) };
        annotation.into_iter().for_each(|annotation| annotation.write_request(&mut bytes));
        let write = || unit.write(self.selected, |receivers| receivers.replicas, &mut bytes);
        self.selected = allocation::contain(write).ok()?;
        let effects =
            self.send_changes((&bytes, annotation.is_some() || unit.has_newer_forms()), sessions, account);
        if bytes.capacity() <= MAX_ENCODED_BYTES {
            self.encoded = bytes;
        }
        unit.by().iter().for_each(|session| _ = self.written.insert(*session, self.offset));
        Some(effects)
    }

    /// Returns a number that no grant has exceeded, and that the stream does not exceed. `last_grant`: the last one.
    pub(crate) fn reserved_grants(&self, last_grant: u64) -> u64 {
        self.reserved_grants.including(last_grant)
    }

    /// Appends these bytes to the stream. They change the data, perhaps in forms that Redis 7.0 cannot read.
    pub(crate) fn send_changes(
        &mut self,
        (bytes, has_newer_forms): (&[u8], bool),
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let effects = self.send(bytes, sessions, account);
        self.changed_at = self.offset;
        if has_newer_forms {
            self.note_newer_forms();
        }
        effects
    }
}
