//! The offsets up to which the stream has the writes of sessions.

use std::collections::BTreeMap;

/// The offset of the last write of each session.
#[derive(Debug, Default)]
pub(super) struct WrittenOffsets {
    /// The session that has written last, and its offset. 0: none. Most writes follow one of the same session.
    last: (u64, i64),
    others: BTreeMap<u64, i64>,
}

impl WrittenOffsets {
    /// Records that the stream has the writes of a session up to an offset. O(1) for the session that has written last,
    /// or else O(log sessions).
    #[inline]
    pub(super) fn set(&mut self, session: u64, offset: i64) {
        if self.last.0 != session {
            self.keep_last();
        }
        self.last = (session, offset);
    }

    #[inline(never)]
    fn keep_last(&mut self) {
        let (session, offset) = self.last;
        if session != 0 {
            self.others.insert(session, offset);
        }
    }

    /// Returns the offset of the last write of a session. 0: it has written nothing. O(log sessions).
    pub(super) fn of(&self, session: u64) -> i64 {
        let (last, offset) = self.last;
        if last == session { offset } else { self.others.get(&session).copied().unwrap_or(0) }
    }

    /// Forgets a session. O(log sessions).
    pub(super) fn remove(&mut self, session: u64) {
        if self.last.0 == session {
            self.last = (0, 0);
        }
        self.others.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_the_offset_of_its_last_write() {
        let mut written = WrittenOffsets::default();
        for (session, offset) in [(1, 10), (1, 20), (2, 30), (1, 40), (3, 50)] {
            written.set(session, offset);
        }
        assert_eq!([1, 2, 3, 4].map(|session| written.of(session)), [40, 30, 50, 0]);
        written.remove(3);
        written.remove(2);
        assert_eq!([1, 2, 3].map(|session| written.of(session)), [40, 0, 0]);
    }
}
