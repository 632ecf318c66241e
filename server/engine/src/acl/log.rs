//! ACL LOG's entries: what was refused to whom.

use lockwheel_store::memory::block;
use std::collections::VecDeque;

/// Milliseconds within which the same refusal is counted and no entry of its own.
const SAME_WITHIN_MS: i64 = 60_000;
/// Bytes of the entries' texts from which on the oldest are dropped: a user may name keys of any length.
const MAX_BYTES: usize = 1 << 20;
/// How many of the latest entries are looked at for the same refusal.
const LOOKED_AT: usize = 10;

/// What was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A command.
    Command,
    /// A key.
    Key,
    /// A channel.
    Channel,
    /// A login.
    Login,
}

impl Refused {
    /// Redis' word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Refused::Command => "command",
            Refused::Key => "key",
            Refused::Channel => "channel",
            Refused::Login => "auth",
        }
    }
}

/// Where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// A client sent it.
    TopLevel,
    /// It belongs to a transaction.
    Multi,
    /// A script made it.
    Lua,
}

impl Context {
    /// Redis' word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Context::TopLevel => "toplevel",
            Context::Multi => "multi",
            Context::Lua => "lua",
        }
    }
}

/// Something refused to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its number, from 0 on: ACL LOG RESET does not restart it.
    pub(crate) id: u64,
    /// How often.
    pub(crate) count: u64,
    /// What.
    pub(crate) refused: Refused,
    /// Where the request came from.
    pub(crate) context: Context,
    /// The command, key or channel.
    pub(crate) object: Box<[u8]>,
    /// The user, or who a client said to be.
    pub(crate) user: Box<[u8]>,
    /// The client that was refused last, as CLIENT LIST shows it.
    pub(crate) client: Box<[u8]>,
    /// When it was refused first, in milliseconds of the wall clock.
    pub(crate) created_ms: i64,
    /// When it was refused last, in milliseconds of the wall clock.
    pub(crate) updated_ms: i64,
}

impl Entry {
    fn memory(&self) -> usize {
        block(self.object.len()) + block(self.user.len()) + block(self.client.len())
    }

    fn is_same(&self, other: &Entry) -> bool {
        self.refused == other.refused
            && self.context == other.context
            && other.created_ms.saturating_sub(self.updated_ms) <= SAME_WITHIN_MS
            && self.object == other.object
            && self.user == other.user
    }
}

/// What was refused, the latest first.
#[derive(Debug, Default)]
pub(crate) struct AclLog {
    entries: VecDeque<Entry>,
    next_id: u64,
    /// Bytes of memory of the entries' texts.
    bytes: usize,
}

impl AclLog {
    /// Something has been refused now; at most `max` entries are kept. O(length of the object and the client's line).
    pub(crate) fn add(&mut self, entry: Entry, max: usize) {
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
                self.entries.push_front(Entry { id: self.next_id, ..entry });
                self.next_id += 1;
            }
        }
        let surplus = self.entries.iter().skip(max);
        self.bytes -= surplus.map(Entry::memory).sum::<usize>();
        self.entries.truncate(max);
        while self.bytes > MAX_BYTES
            && self.entries.len() > 1
            && let Some(oldest) = self.entries.pop_back()
        {
            self.bytes -= oldest.memory();
        }
    }

    /// Bytes of memory of all of it. O(1).
    pub(crate) fn memory(&self) -> usize {
        block(self.entries.capacity() * size_of::<Entry>()) + self.bytes
    }

    /// The entries, the latest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Forgets all.
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
        let entry = |length: usize| Entry {
            id: 0,
            count: 1,
            refused: Refused::Key,
            context: Context::TopLevel,
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
