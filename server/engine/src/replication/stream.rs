//! The changes of the master in the stream that replicas get.

use super::effect::ReplicationEffect;
use super::state::Replication;
use crate::clients::Sessions;
use crate::propagation::Unit;
use lockwheel_resp::allocation::{self, OutOfMemory};
use lockwheel_store::memory::BufferBytes;

/// The most memory that is kept for encoding the next unit, in bytes.
const MAX_ENCODED_BYTES: usize = 64 << 10;

impl Replication {
    /// Appends the requests of a unit to the stream and sends them. O(bytes).
    ///
    /// # Errors
    /// Returns an error if there is no memory for them. Nothing is sent then.
    pub(crate) fn send_unit(
        &mut self,
        unit: &Unit,
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Result<Vec<ReplicationEffect>, OutOfMemory> {
        let mut bytes = std::mem::take(&mut self.encoded);
        bytes.clear();
        let write = || unit.write(self.selected, |receivers| receivers.replicas, &mut bytes);
        self.selected = allocation::contain(write)?;
        let effects = self.send_changes((&bytes, unit.has_newer_forms()), sessions, account);
        if bytes.capacity() <= MAX_ENCODED_BYTES {
            self.encoded = bytes;
        }
        unit.by().iter().for_each(|session| _ = self.written.insert(*session, self.offset));
        Ok(effects)
    }

    /// Tells replicas of this program that numbers of grants are used up to this one, unless they know. A replica then
    /// gives higher fencing tokens when it becomes a master. O(1).
    #[inline]
    pub(crate) fn tell_last_grant(
        &mut self,
        last_grant: u64,
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let annotation = if self.for_7_0 { None } else { self.reserved_grants.reserve(last_grant) };
        let Some(annotation) = annotation else { return Vec::new() };
        let mut bytes = Vec::new();
        annotation.write_request(&mut bytes);
        self.send_changes((&bytes, true), sessions, account)
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
