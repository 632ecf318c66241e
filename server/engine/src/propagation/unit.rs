//! The requests of a command, script or transaction.

use super::key_request::{self, MAX_AROUND};
use lockwheel_resp::{allocation, max_request_len, write_arguments, write_request};
use lockwheel_store::keyspace::KeyRequest;
use std::num::NonZeroU64;

/// The maximum number of bytes of a SELECT.
const SELECT_BYTES: usize = 64;

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

/// The receivers of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    db: usize,
    /// The end of its bytes, which begin where those of the run before end.
    end: usize,
    receivers: Receivers,
}

/// The requests of a command, script or transaction, encoded and in order.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// MULTI and the requests, unless there are none.
    bytes: Vec<u8>,
    /// The last run. Its end is 0 if there is none.
    last: Run,
    /// The runs before it. Most units have none.
    earlier: Vec<Run>,
    /// The number of requests.
    requests: usize,
    /// The first session that has caused requests. 0: none.
    by: u64,
    /// The other sessions. Most units have none.
    by_others: Vec<u64>,
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
    pub(crate) fn by(&self) -> impl Iterator<Item = u64> {
        (self.by != 0).then_some(self.by).into_iter().chain(self.by_others.iter().copied())
    }

    /// Whether sessions have caused the requests, and this one is none of them.
    pub(crate) fn is_only_by_others(&self, session: u64) -> bool {
        self.by != 0 && self.by().all(|by| by != session)
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
        allocation::reserve(stream, self.bytes.len() + EXEC.len() + SELECT_BYTES);
        let run = self.last;
        if run.end > 0 && self.earlier.is_empty() && selected == Some(run.db) && is_for(run.receivers) {
            stream.extend_from_slice(&self.bytes[if is_transaction { 0 } else { MULTI.len() }..]);
            if is_transaction {
                stream.extend_from_slice(EXEC);
            }
            return selected;
        }
        let (mut begin, mut has_any) = (MULTI.len(), false);
        for Run { db, end, receivers } in self.runs() {
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
                allocation::append(stream, MULTI);
            }
            has_any = true;
            allocation::append(stream, &self.bytes[bytes]);
        }
        if is_transaction && has_any {
            allocation::append(stream, EXEC);
        }
        selected
    }

    /// Adds a request for a database.
    pub(super) fn add(&mut self, db: usize, words: &[&[u8]], receivers: Receivers) {
        if self.make_room(max_request_len(words)) {
            write_request(words, &mut self.bytes);
            self.end_run(db, receivers, 1);
        }
    }

    /// Adds a message to a channel. O(bytes).
    pub(super) fn add_message(&mut self, channel: &[u8], message: &[u8], receivers: Receivers) {
        self.has_commands = true;
        if receivers.are_any() && self.make_room(MAX_AROUND + channel.len() + message.len()) {
            self.bytes.extend_from_slice(b"*3\r\n$7\r\nPUBLISH");
            write_arguments([channel, message], &mut self.bytes);
            self.end_run(0, receivers, 1);
        }
    }

    /// Makes room for requests of this length in bytes, after MULTI. Returns false if there is no memory.
    #[inline]
    fn make_room(&mut self, max: usize) -> bool {
        if allocation::try_reserve(&mut self.bytes, MULTI.len() + max).is_err() {
            self.lose();
            return false;
        }
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(MULTI);
        }
        true
    }

    /// Adds requests of a command that change one key. O(bytes).
    pub(super) fn add_of_key(
        &mut self,
        (db, key): (usize, &[u8]),
        requests: &[KeyRequest<'_>],
        receivers: Receivers,
    ) {
        self.has_commands = true;
        if !receivers.are_any() {
            return;
        }
        let max = requests.iter().map(|request| key_request::max_len(key, request)).sum::<usize>();
        if self.make_room(max) {
            requests.iter().for_each(|request| key_request::write(key, request, &mut self.bytes));
            self.end_run(db, receivers, requests.len());
        }
    }

    /// Records that these requests end with the bytes so far.
    #[inline]
    fn end_run(&mut self, db: usize, receivers: Receivers, requests: usize) {
        self.add_run(Run { db, end: self.bytes.len(), receivers });
        self.requests += requests;
    }

    /// Adds a run behind the others, or to the last one if that is of the same kind.
    #[inline]
    fn add_run(&mut self, run: Run) {
        let is_next = run.db == self.last.db && run.receivers == self.last.receivers;
        if self.last.end > 0 && !is_next {
            self.keep_last_run();
        }
        self.last = run;
    }

    #[cold]
    fn keep_last_run(&mut self) {
        match allocation::try_reserve(&mut self.earlier, 1) {
            Ok(()) => self.earlier.push(self.last),
            Err(_) => self.lose(),
        }
    }

    fn runs(&self) -> impl Iterator<Item = Run> {
        self.earlier.iter().copied().chain((self.last.end > 0).then_some(self.last))
    }

    /// Moves the requests of another unit behind those of this one.
    pub(super) fn append(&mut self, other: &mut Unit) {
        if other.is_empty() {
            return;
        }
        if !self.make_room(other.bytes.len()) {
            return;
        }
        let from = self.bytes.len() - MULTI.len();
        self.bytes.extend_from_slice(other.bytes.get(MULTI.len()..).unwrap_or_default());
        other.runs().for_each(|run| self.add_run(Run { end: from + run.end, ..run }));
        self.requests += other.requests;
        self.is_incomplete |= other.is_incomplete;
        self.has_commands |= other.has_commands;
        other.clear();
    }

    /// Empties the unit and keeps its memory for the next one, unless it is much.
    pub(crate) fn clear(&mut self) {
        const MAX_KEPT: usize = 64 << 10;
        if self.bytes.capacity() + self.earlier.capacity() * size_of::<Run>() > MAX_KEPT {
            return *self = Unit::default();
        }
        self.bytes.clear();
        self.earlier.clear();
        self.by_others.clear();
        (self.by, self.requests, self.last.end) = (0, 0, 0);
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
    #[inline]
    pub(super) fn is_caused_by(&mut self, session: Option<NonZeroU64>) {
        let session = session.map_or(0, NonZeroU64::get);
        if session != self.by && session != 0 {
            self.add_cause(session);
        }
    }

    fn add_cause(&mut self, session: u64) {
        if self.by == 0 {
            self.by = session;
        } else if !self.by_others.contains(&session) {
            self.by_others.push(session);
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
    fn requests_for_a_key_are_written_as_commands() {
        let mut unit = Unit::default();
        let requests = [
            KeyRequest::SetField(b"owner", b"1"),
            KeyRequest::ExpireAt(1_700_000_000_000),
            KeyRequest::Set(b"value"),
            KeyRequest::RemoveField(b"owner"),
            KeyRequest::Remove,
        ];
        unit.add_of_key((0, b"k"), &requests, Receivers::ALL);
        let expected = "MULTI HSET k owner 1 PEXPIREAT k 1700000000000 SET k value HDEL k owner DEL k EXEC";
        assert_eq!(written(&unit, Some(0)), (expected.to_owned(), Some(0)));
        let mut single = Unit::default();
        single.add_of_key((0, b"k"), &requests[..1], Receivers::REPLICAS);
        assert_eq!(written(&single, Some(0)), ("HSET k owner 1".to_owned(), Some(0)));
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
        assert!(unit.by().eq([3, 4]));
    }
}
