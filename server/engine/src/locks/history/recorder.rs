//! The recorder: adds entries, with what is known of the request that runs.

use super::entry::{Cause, Entry, Event, Mode, NO_TTL};
use super::names::Name;
use super::ring::Ring;
use crate::time::Now;

/// A longer text of a mark, or of a fault, is cut.
const TEXT_MAX: usize = 1024;

/// The history while it is on.
#[derive(Debug)]
pub(in crate::locks) struct History {
    ring: Ring,
    running: Running,
}

/// The request that runs.
#[derive(Debug, Default)]
pub(in crate::locks) struct Running {
    client: u64,
    client_name: Vec<u8>,
    by: Vec<u8>,
    by_text: bool,
    waited_ms: u64,
    /// The number of its first entry, if it makes one.
    first: u64,
}

/// A request that is about to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// Its client.
    pub(crate) client: u64,
    /// What the client calls itself.
    pub(crate) client_name: &'a [u8],
    /// The command; or a script by its SHA-1 or its text, or a function by its name.
    pub(crate) by: &'a [u8],
    /// Whether that is a script's text.
    pub(crate) by_text: bool,
    /// How long it has been waiting, in milliseconds of the monotonic clock.
    pub(crate) waited_ms: u64,
}

/// What happened, to be recorded. All but the event may be left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Happening<'a> {
    pub(crate) event: Event,
    /// The database of the key.
    pub(crate) db: usize,
    /// The lock; empty: none.
    pub(crate) key: &'a [u8],
    /// Empty: none.
    pub(crate) owner: &'a [u8],
    /// 0: none; of permits, how many are held.
    pub(crate) grant: u64,
    /// Holds from now on, or how many permits it is about; where a clock was turned to.
    pub(crate) holds: i64,
    /// The lease, in milliseconds; where a clock was turned from; how many permits are left.
    pub(crate) ttl_ms: Option<i64>,
    pub(crate) cause: Cause,
    pub(crate) mode: Mode,
    /// Whether a native command took the hold.
    pub(crate) native: Option<bool>,
    /// What a fault did, or the text of a mark.
    pub(crate) text: &'a [u8],
    /// The client it concerns, where that is not the one whose request runs; 0: time alone acts.
    pub(crate) client: Option<u64>,
}

impl<'a> Happening<'a> {
    /// Something that happened to a key of the database that runs, without details.
    pub(crate) fn new(event: Event, key: &'a [u8], owner: &'a [u8]) -> Self {
        Happening {
            event,
            db: 0,
            key,
            owner,
            grant: 0,
            holds: 0,
            ttl_ms: None,
            cause: Cause::None,
            mode: Mode::None,
            native: None,
            text: b"",
            client: None,
        }
    }
}

impl History {
    /// An empty history for so many entries. The seed decides the hash of names.
    pub(in crate::locks) fn new(most: usize, seed: u64) -> Self {
        History { ring: Ring::new(most, seed), running: Running::default() }
    }

    /// The entries.
    pub(in crate::locks) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Keeps at most so many entries from now on.
    pub(in crate::locks) fn set_most(&mut self, most: usize) {
        self.ring.set_most(most);
    }

    /// Bytes of all of it. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        size_of::<Self>() + self.ring.memory()
    }

    /// A request is about to run: what happens from now on is its doing.
    pub(in crate::locks) fn begin(&mut self, request: Request<'_>) {
        let running = &mut self.running;
        running.client = request.client;
        running.waited_ms = request.waited_ms;
        running.by_text = request.by_text;
        running.first = self.ring.next();
        for (text, given) in [(&mut running.client_name, request.client_name), (&mut running.by, request.by)]
        {
            text.clear();
            text.extend_from_slice(given);
        }
    }

    /// Adds an entry.
    pub(in crate::locks) fn record(&mut self, now: Now, what: Happening<'_>) {
        let names = &mut self.ring.names;
        let mut named = |db: usize, text: &[u8]| match text {
            [] => Name::NONE,
            text => names.intern(db, text),
        };
        let by_request = what.client.is_none_or(|client| client == self.running.client && client != 0);
        let running = &self.running;
        let entry = Entry {
            wall_ms: now.wall_ms(),
            monotonic_ms: now.monotonic_ms(),
            grant: what.grant,
            client: what.client.unwrap_or(running.client),
            ttl_ms: what.ttl_ms.unwrap_or(NO_TTL),
            holds: what.holds,
            waited_ms: if by_request { u32::try_from(running.waited_ms).unwrap_or(u32::MAX) } else { 0 },
            key: named(what.db, what.key),
            owner: named(0, what.owner),
            client_name: if by_request { named(0, &running.client_name) } else { Name::NONE },
            by: if by_request { named(0, &running.by) } else { Name::NONE },
            text: named(0, &what.text[..what.text.len().min(TEXT_MAX)]),
            event: what.event,
            cause: what.cause,
            mode: what.mode,
            native: what.native,
            by_text: by_request && running.by_text,
        };
        self.ring.push(entry);
    }

    /// Whether the running request has made an entry for this key.
    pub(in crate::locks) fn has_recorded(&self, db: usize, key: &[u8]) -> bool {
        self.last_of_request(db, key, |_| true).is_some()
    }

    /// The last entry of the running request for a key that is wanted.
    fn last_of_request(&self, db: usize, key: &[u8], wanted: impl Fn(&Entry) -> bool) -> Option<u64> {
        let key = self.ring.names.find(db, key)?;
        let mut own = self.ring.after(self.running.first.saturating_sub(1)).rev();
        own.find(|(_, entry)| entry.key == key && wanted(entry)).map(|(seq, _)| seq)
    }

    /// The running request has given a lock a lease: that is part of taking the lock, if it has just done that. Whether
    /// it was.
    pub(in crate::locks) fn lease_of_request(&mut self, db: usize, key: &[u8], ttl_ms: i64) -> bool {
        let with_lease = [Event::Acquired, Event::Reentered, Event::Released, Event::Converted];
        let found = self.last_of_request(db, key, |entry| with_lease.contains(&entry.event));
        if let Some(entry) = found.and_then(|seq| self.ring.get_mut(seq)) {
            entry.ttl_ms = ttl_ms;
        }
        found.is_some()
    }

    /// The running request has ended a hold of which it had given back a part just before: that is one release. Whether
    /// it was.
    pub(in crate::locks) fn end_of_request(&mut self, db: usize, key: &[u8], owner: &[u8]) -> bool {
        let Some(owner) = self.ring.names.find(0, owner) else { return false };
        let partial = |entry: &Entry| entry.event == Event::Released && entry.owner == owner;
        let found = self.last_of_request(db, key, partial);
        if let Some(entry) = found.and_then(|seq| self.ring.get_mut(seq)) {
            (entry.holds, entry.ttl_ms) = (0, NO_TTL);
        }
        found.is_some()
    }

    /// A clock was turned: a turn that goes on from where the last entry's ended is one with it.
    pub(in crate::locks) fn clock(&mut self, now: Now, from_ms: i64, to_ms: i64) {
        let last = self.ring.next() - 1;
        if let Some(entry) = self.ring.get_mut(last)
            && entry.event == Event::Clock
            && entry.holds == from_ms
            && (entry.ttl_ms <= entry.holds) == (from_ms <= to_ms)
        {
            (entry.holds, entry.wall_ms, entry.monotonic_ms) = (to_ms, now.wall_ms(), now.monotonic_ms());
            return;
        }
        let turned = Happening::new(Event::Clock, b"", b"");
        self.record(now, Happening { ttl_ms: Some(from_ms), holds: to_ms, ..turned });
    }
}
