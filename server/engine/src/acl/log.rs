//! The entries of ACL LOG: requests refused to users.

use lockwheel_store::memory::block;
use std::collections::VecDeque;

/// Milliseconds within which an equal refusal is added to the count of an entry.
const SAME_WITHIN_MS: i64 = 60_000;
/// The most bytes of the entries' texts, beyond which the oldest go: users may name keys of any length.
const MAX_BYTES: usize = 1 << 20;
/// The number of the latest entries that are searched for an equal refusal.
const LOOKED_AT: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Command,
    Key,
    Channel,
    Login,
}

impl Refused {
    /// Redis' word for the value.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Refused::Command => "command",
            Refused::Key => "key",
            Refused::Channel => "channel",
            Refused::Login => "auth",
        }
    }
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// A client sent the request.
    TopLevel,
    /// The request belongs to a transaction.
    Multi,
    /// A script made the request.
    Lua,
}

impl RequestOrigin {
    /// Redis' word for the value.
    pub(crate) fn word(self) -> &'static str {
        match self {
            RequestOrigin::TopLevel => "toplevel",
            RequestOrigin::Multi => "multi",
            RequestOrigin::Lua => "lua",
        }
    }
}

/// A refusal to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AclLogEntry {
    /// The number of the entry, from 0 on. ACL LOG RESET does not restart the numbers.
    pub(crate) id: u64,
    /// The number of equal refusals.
    pub(crate) count: u64,
    pub(crate) refused: Refused,
    pub(crate) context: RequestOrigin,
    /// The command, key or channel.
    pub(crate) object: Box<[u8]>,
    /// The user, or the name with which a client tried to log in.
    pub(crate) user: Box<[u8]>,
    /// The client of the last refusal, as CLIENT LIST shows it.
    pub(crate) client: Box<[u8]>,
    /// The time of the first refusal, in milliseconds of the wall clock.
    pub(crate) created_ms: i64,
    /// The time of the last refusal, in milliseconds of the wall clock.
    pub(crate) updated_ms: i64,
}

impl AclLogEntry {
    fn memory(&self) -> usize {
        block(self.object.len()) + block(self.user.len()) + block(self.client.len())
    }

    fn is_same(&self, other: &AclLogEntry) -> bool {
        self.refused == other.refused
            && self.context == other.context
            && other.created_ms.saturating_sub(self.updated_ms) <= SAME_WITHIN_MS
            && self.object == other.object
            && self.user == other.user
    }
}

/// The log of refusals, the latest first.
#[derive(Debug, Default)]
pub(crate) struct AclLog {
    entries: VecDeque<AclLogEntry>,
    next_id: u64,
    /// Bytes of memory of the entries' texts.
    bytes: usize,
}

impl AclLog {
    /// Records a refusal. At most `max` entries are kept. O(length of the object and the client's line).
    pub(crate) fn add(&mut self, entry: AclLogEntry, max: usize) {
        let looked_at = self.entries.iter().take(LOOKED_AT);
        match looked_at.enumerate().find(|(_, known)| known.is_same(&entry)).map(|(at, _)| at) {
            Some(at) => {
                if let Some(mut known) = self.entries.remove(at) {
                    self.bytes -= known.memory();
                    known.count += 1;
                    (known.client, known.updated_ms) = (entry.client, entry.updated_ms);
                    self.bytes += known.memory();
                    self.entries.push_front(known);
                }
            }
            None => {
                self.bytes += entry.memory();
                self.entries.push_front(AclLogEntry { id: self.next_id, ..entry });
                self.next_id += 1;
            }
        }
        let surplus = self.entries.iter().skip(max);
        self.bytes -= surplus.map(AclLogEntry::memory).sum::<usize>();
        self.entries.truncate(max);
        while self.bytes > MAX_BYTES
            && self.entries.len() > 1
            && let Some(oldest) = self.entries.pop_back()
        {
            self.bytes -= oldest.memory();
        }
    }

    /// Bytes of memory of the log. O(1).
    pub(crate) fn memory(&self) -> usize {
        block(self.entries.capacity() * size_of::<AclLogEntry>()) + self.bytes
    }

    /// The entries, the latest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &AclLogEntry> {
        self.entries.iter()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_leave_room_for_the_latest_entries_alone() {
        let mut log = AclLog::default();
        let entry = |length: usize| AclLogEntry {
            id: 0,
            count: 1,
            refused: Refused::Key,
            context: RequestOrigin::TopLevel,
            object: vec![b'k'; length].into(),
            user: b"u"[..].into(),
            client: b""[..].into(),
            created_ms: 0,
            updated_ms: 0,
        };
        (0..20).for_each(|n| log.add(entry((100 << 10) + n), 128));
        assert!((8..=10).contains(&log.iter().len()) && log.bytes <= MAX_BYTES);
        log.add(entry(2 * MAX_BYTES), 128);
        assert_eq!(log.iter().map(|entry| entry.id).collect::<Vec<_>>(), [20]);
        log.clear();
        assert_eq!(log.bytes, 0);
    }
}
