//! The requests of a command, script or transaction.

use lockwheel_resp::{allocation, max_request_len, write_request};
use std::num::NonZeroU64;

/// The maximum number of bytes of a SELECT.
const SELECT_BYTES: usize = 64;

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

/// The receivers of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receivers {
    /// Whether replicas get the request.
    pub(crate) replicas: bool,
    /// Whether the append-only file gets the request.
    pub(crate) file: bool,
}

impl Receivers {
    /// All receivers.
    pub(crate) const ALL: Self = Receivers { replicas: true, file: true };
    /// The replicas.
    pub(crate) const REPLICAS: Self = Receivers { replicas: true, file: false };

    /// The append-only file.
    pub(crate) const FILE: Self = Receivers { replicas: false, file: true };

    /// Returns the receivers that both have.
    pub(crate) fn and(self, other: Self) -> Self {
        Receivers { replicas: self.replicas && other.replicas, file: self.file && other.file }
    }

    /// Whether there is any receiver.
    pub(crate) fn are_any(self) -> bool {
        self.replicas || self.file
    }
}

/// Successive requests of a unit for one database and the same receivers.
#[derive(Debug)]
struct Run {
    db: usize,
    /// The end of its bytes, which begin where those of the run before end.
    end: usize,
    receivers: Receivers,
}

/// The requests of a command, script or transaction, encoded and in order.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    bytes: Vec<u8>,
    runs: Vec<Run>,
    /// The number of requests.
    requests: usize,
    /// The sessions that have caused the requests.
    by: Vec<u64>,
    /// Whether a request found no memory, so that the unit cannot be sent.
    is_incomplete: bool,
    /// Whether a request has a form that Redis 7.0 lacks.
    has_newer_forms: bool,
    /// Whether a request is the effect of a command, and not only the removal of a key that is due or evicted.
    has_commands: bool,
}

impl Unit {
    /// Whether nothing has changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests == 0 && !self.is_incomplete
    }

    /// Whether a request found no memory, so that the unit cannot be sent.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Whether a request has a form that Redis 7.0 lacks.
    pub(crate) fn has_newer_forms(&self) -> bool {
        self.has_newer_forms
    }

    /// Returns the sessions that have caused the requests.
    pub(crate) fn by(&self) -> &[u64] {
        &self.by
    }

    /// Whether sessions have caused the requests, and this one is none of them.
    pub(crate) fn is_only_by_others(&self, session: u64) -> bool {
        !self.by.is_empty() && !self.by.contains(&session)
    }

    /// Appends the requests of a receiver to a stream whose selected database is `selected`, if known. The requests of
    /// a command, if there are several, are within MULTI and EXEC. Returns the selected database after that. Unwinds if
    /// there is no memory. O(bytes).
    pub(crate) fn write(
        &self,
        mut selected: Option<usize>,
        is_for: impl Fn(Receivers) -> bool,
        stream: &mut Vec<u8>,
    ) -> Option<usize> {
        // As in Redis, keys that expire together are no transaction.
        let is_transaction = self.requests > 1 && self.has_commands;
        allocation::reserve(stream, self.bytes.len() + MULTI.len() + EXEC.len() + SELECT_BYTES);
        let (mut begin, mut has_any) = (0, false);
        for &Run { db, end, receivers } in &self.runs {
            let bytes = std::mem::replace(&mut begin, end)..end;
            if !is_for(receivers) {
                continue;
            }
            if selected != Some(db) {
                allocation::reserve(stream, SELECT_BYTES);
                write_request(&[b"SELECT", db.to_string().as_bytes()], stream);
                selected = Some(db);
            }
            if is_transaction && !has_any {
                stream.extend_from_slice(MULTI);
            }
            has_any = true;
            allocation::append(stream, &self.bytes[bytes]);
        }
        if is_transaction && has_any {
            stream.extend_from_slice(EXEC);
        }
        selected
    }

    /// Adds a request for a database.
    pub(super) fn add(&mut self, db: usize, words: &[&[u8]], receivers: Receivers) {
        if allocation::try_reserve(&mut self.bytes, max_request_len(words)).is_err() {
            return self.lose();
        }
        write_request(words, &mut self.bytes);
        self.requests += 1;
        let end = self.bytes.len();
        match self.runs.last_mut() {
            Some(run) if run.db == db && run.receivers == receivers => run.end = end,
            _ => self.add_run(Run { db, end, receivers }),
        }
    }

    fn add_run(&mut self, run: Run) {
        match allocation::try_reserve(&mut self.runs, 1) {
            Ok(()) => self.runs.push(run),
            Err(_) => self.lose(),
        }
    }

    /// Moves the requests of another unit behind those of this one.
    pub(super) fn append(&mut self, other: &mut Unit) {
        if other.is_empty() {
            return;
        }
        let other = std::mem::take(other);
        if allocation::try_reserve(&mut self.bytes, other.bytes.len()).is_err() {
            return self.lose();
        }
        let from = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        other.runs.into_iter().for_each(|run| self.add_run(Run { end: from + run.end, ..run }));
        self.requests += other.requests;
        self.is_incomplete |= other.is_incomplete;
        self.has_commands |= other.has_commands;
    }

    /// Empties the unit and keeps its memory for the next one, unless it is much.
    pub(super) fn clear(&mut self) {
        const MAX_KEPT: usize = 64 << 10;
        let Unit { bytes, runs, by, .. } = self;
        if bytes.capacity() + runs.capacity() * size_of::<Run>() > MAX_KEPT {
            return *self = Unit::default();
        }
        bytes.clear();
        runs.clear();
        by.clear();
        self.requests = 0;
        (self.is_incomplete, self.has_newer_forms, self.has_commands) = (false, false, false);
    }

    /// Records that a request is the effect of a command.
    pub(super) fn note_command(&mut self) {
        self.has_commands = true;
    }

    /// Records that a request found no memory.
    pub(super) fn lose(&mut self) {
        self.is_incomplete = true;
    }

    /// Records that a request has a form that Redis 7.0 lacks.
    pub(super) fn note_newer_form(&mut self) {
        self.has_newer_forms = true;
    }

    /// Records a session as a cause. `None`: the engine itself is the cause.
    pub(super) fn is_caused_by(&mut self, session: Option<NonZeroU64>) {
        let session = session.map_or(0, NonZeroU64::get);
        if session != 0 && self.by.last() != Some(&session) && !self.by.contains(&session) {
            self.by.push(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(unit: &Unit, selected: Option<usize>) -> (String, Option<usize>) {
        let mut stream = Vec::new();
        let selected = unit.write(selected, |receivers| receivers.replicas, &mut stream);
        let text = String::from_utf8(stream).expect("text");
        let words = text.split("\r\n").filter(|word| !word.is_empty() && !word.starts_with(['*', '$']));
        (words.collect::<Vec<_>>().join(" "), selected)
    }

    #[test]
    fn several_requests_are_propagated_as_a_transaction() {
        let mut unit = Unit::default();
        assert_eq!(written(&unit, None), (String::new(), None));
        unit.add(2, &[b"SET", b"a", b"1"], Receivers::ALL);
        assert_eq!(written(&unit, None), ("SELECT 2 SET a 1".to_owned(), Some(2)));
        assert_eq!(written(&unit, Some(2)), ("SET a 1".to_owned(), Some(2)));
        unit.add(2, &[b"DEL", b"b"], Receivers::ALL);
        assert_eq!(written(&unit, Some(2)), ("SET a 1 DEL b".to_owned(), Some(2)));
        unit.note_command();
        unit.add(0, &[b"DEL", b"c"], Receivers::ALL);
        let expected = "SELECT 2 MULTI SET a 1 DEL b SELECT 0 DEL c EXEC";
        assert_eq!(written(&unit, Some(0)), (expected.to_owned(), Some(0)));
    }

    #[test]
    fn a_request_is_propagated_to_its_receivers_only() {
        let mut unit = Unit::default();
        unit.add(1, &[b"DEL", b"a"], Receivers { replicas: false, file: true });
        assert_eq!(written(&unit, None), (String::new(), None));
        unit.add(0, &[b"DEL", b"b"], Receivers::ALL);
        unit.note_command();
        assert_eq!(written(&unit, Some(0)), ("MULTI DEL b EXEC".to_owned(), Some(0)));
    }

    #[test]
    fn each_session_is_listed_once_as_a_cause() {
        let mut unit = Unit::default();
        for session in [3, 0, 4, 3] {
            unit.is_caused_by(NonZeroU64::new(session));
        }
        assert_eq!(unit.by(), [3, 4]);
    }
}
