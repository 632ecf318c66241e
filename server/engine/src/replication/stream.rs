//! The changes of the master in the stream that replicas get.
//!
//! A change is a part of the stream at once, and its offset counts. The replicas are sent the changes of a batch
//! together, when it has ended.

use super::effect::ReplicationEffect;
use super::state::Replication;
use crate::clients::Sessions;
use crate::propagation::Unit;
use lockwheel_resp::allocation;
use lockwheel_store::memory::BufferBytes;

/// The number of undelivered bytes after which the batch need not have ended.
const MAX_UNDELIVERED_BYTES: usize = 16 << 10;

impl Replication {
    /// Appends the requests of a unit to the stream. Replicas of this program are told of `last_grant`, the number of
    /// the last grant, so that one that becomes a master gives higher fencing tokens. Returns false if there is no
    /// memory for the requests, or was none for a request of the unit: nothing is appended then. O(bytes).
    pub(crate) fn append_unit(&mut self, unit: &Unit, last_grant: u64) -> bool {
        if self.backlog.is_none() {
            return true;
        }
        if unit.is_incomplete() {
            return false;
        }
        let annotation = if self.for_7_0 { None } else { self.reserved_grants.reserve(last_grant) };
        let Replication { undelivered, selected, .. } = self;
        let begin = undelivered.len();
        annotation.into_iter().for_each(|annotation| annotation.write_request(undelivered));
        let written = allocation::contain(|| unit.write(*selected, |to| to.replicas, undelivered));
        match written {
            Ok(now_selected) => *selected = now_selected,
            Err(_) => {
                undelivered.truncate(begin);
                return false;
            }
        }
        self.offset += (self.undelivered.len() - begin) as i64;
        self.note_change(annotation.is_some() || unit.has_newer_forms());
        unit.by().for_each(|session| self.written.set(session, self.offset));
        true
    }

    /// Whether a part of the stream is to be delivered. `is_over`: the batch has ended.
    #[inline]
    pub(crate) fn is_delivery_due(&self, is_over: bool) -> bool {
        let len = self.undelivered.len();
        len > 0 && (is_over || len >= MAX_UNDELIVERED_BYTES)
    }

    /// Sends replicas the part of the stream that they have not been sent. Returns the effects on them, in order.
    pub(crate) fn deliver(
        &mut self,
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let mut bytes = std::mem::take(&mut self.undelivered);
        if bytes.is_empty() {
            return Vec::new();
        }
        if let Some(backlog) = &mut self.backlog {
            backlog.append(&bytes);
        }
        let effects = self.pass_on(&bytes, sessions, account);
        if bytes.capacity() <= 2 * MAX_UNDELIVERED_BYTES {
            bytes.clear();
            self.undelivered = bytes;
        }
        effects
    }

    /// Returns a number that no grant has exceeded, and that the stream does not exceed. `last_grant`: the last one.
    pub(crate) fn reserved_grants(&self, last_grant: u64) -> u64 {
        self.reserved_grants.including(last_grant)
    }

    /// Appends these bytes to the stream and sends them. They change the data, perhaps in forms that Redis 7.0 cannot
    /// read.
    pub(crate) fn send_changes(
        &mut self,
        (bytes, has_newer_forms): (&[u8], bool),
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let effects = self.send(bytes, sessions, account);
        self.note_change(has_newer_forms);
        effects
    }

    /// Records that the stream ends with a change of the data.
    fn note_change(&mut self, has_newer_forms: bool) {
        self.changed_at = self.offset;
        if has_newer_forms {
            self.note_newer_forms();
        }
    }
}
