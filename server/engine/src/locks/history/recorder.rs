//! The recorder: adds entries with the details of the running request.

use super::entry::{Cause, Entry, Event, Mode, NO_TOTAL, NO_TTL, Traits};
use super::names::Name;
use super::ring::Ring;
use super::stamps::StampSource;
use crate::spec::{CommandId, PerCommand};
use lockwheel_store::time::Now;

/// The maximum number of entries of a request before its last one that are examined.
const SEVERAL: u64 = 64;
/// The maximum number of bytes of the text of a mark or a fault. A longer text is cut.
const MAX_TEXT_BYTES: usize = 1024;

/// The history while it is on.
#[derive(Debug)]
pub(in crate::locks) struct History {
    ring: Ring,
    running: Running,
    /// The request that moves the clock, while other requests run meanwhile.
    turning: Option<Running>,
    /// Whether no entries are added for now.
    is_muted: bool,
    /// The number before which entries have been read, and no longer change.
    read_up_to: u64,
    /// The likely names of the next entry.
    likely: Likely,
    /// The names of commands, from their first entry on. Each is looked up once.
    commands: PerCommand<Name>,
}

/// The request that runs.
#[derive(Clone, Debug, Default)]
pub(in crate::locks) struct Running {
    client: u64,
    client_name: Vec<u8>,
    command: Option<(CommandId, &'static str)>,
    script: Vec<u8>,
    by_text: bool,
    waited_ms: u64,
    /// The ticket with which the request waited.
    ticket: Option<u64>,
    /// The number of the request among all requests.
    number: u64,
    /// The number of the request's transaction, or its own number; and the same of the request before.
    unit: u64,
    unit_before: u64,
    /// The number of the request's first entry, if it makes one.
    first: u64,
    /// The number of the last command of a transaction, and the number of the transaction's first entry.
    of_transaction: (u64, u64),
}

/// A request that is about to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) client: u64,
    /// The name that the client has given itself.
    pub(crate) client_name: &'a [u8],
    pub(crate) by: By<'a>,
    /// The time that the request has waited, in milliseconds of the monotonic clock.
    pub(crate) waited_ms: u64,
    /// The ticket with which the request waited, while its client continued.
    pub(crate) ticket: Option<u64>,
}

/// The action of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By<'a> {
    Command(CommandId, &'static str),
    /// A script by its SHA-1, or a function by its name.
    Script(&'a [u8]),
    Text(&'a [u8]),
}

/// An event to be recorded. All fields but the event may be left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Happening<'a> {
    pub(crate) event: Event,
    pub(crate) db: usize,
    /// The lock; empty: none.
    pub(crate) key: &'a [u8],
    /// The owner; empty: none.
    pub(crate) owner: &'a [u8],
    /// The grant; 0: none. For permits, the number of held permits.
    pub(crate) grant: u64,
    /// The number of holds, or of permits taken or returned; for a clock or a withheld answer as in [`Entry`].
    pub(crate) holds: i64,
    /// The lease in milliseconds. For a clock, the time from which it was moved. For permits, the number that is left.
    pub(crate) ttl_ms: Option<i64>,
    pub(crate) total: Option<i64>,
    pub(crate) cause: Cause,
    pub(crate) mode: Mode,
    pub(crate) native: Option<bool>,
    pub(crate) session: bool,
    /// The action of a fault, the text of a mark, a refused cycle, or the lease of taken permits: see [`Entry`].
    pub(crate) text: &'a [u8],
    /// The client, if it is not that of the running request; 0: time alone acts.
    pub(crate) client: Option<u64>,
    /// The ticket of the waiting request, if it is not the running one; 0: it has none.
    pub(crate) ticket: Option<u64>,
}

impl<'a> Happening<'a> {
    /// Returns an event of a key, without details.
    pub(crate) fn new(event: Event, key: &'a [u8], owner: &'a [u8]) -> Self {
        Happening {
            event,
            db: 0,
            key,
            owner,
            grant: 0,
            holds: 0,
            ttl_ms: None,
            total: None,
            cause: Cause::None,
            mode: Mode::None,
            native: None,
            session: false,
            text: b"",
            client: None,
            ticket: None,
        }
    }
}

/// The names of the last entries. Often the owner that took a lock also makes the next entry by its release. Scripts
/// that take and release a lock often alternate, and so does a single script that runs repeatedly.
#[derive(Clone, Copy, Debug, Default)]
struct Likely {
    key: Name,
    owner: Name,
    by: [Name; 2],
}

#[cold]
fn of_ticket(ticket: Option<u64>) -> i64 {
    ticket.filter(|&ticket| ticket > 0).map_or(NO_TOTAL, u64::cast_signed)
}

impl History {
    /// Returns an empty history for up to `most` entries. The seed decides the hash of names.
    pub(in crate::locks) fn new(most: usize, seed: u64) -> Self {
        History::of(Ring::new(most, seed))
    }

    /// Returns an empty history. With a source, it is the history of one of several servers.
    pub(in crate::locks) fn stamped(most: usize, seed: u64, source: Option<StampSource>) -> Self {
        match source {
            Some(source) => History::of(Ring::stamped(most, seed, source)),
            None => History::new(most, seed),
        }
    }

    pub(super) fn of(ring: Ring) -> Self {
        let commands = PerCommand::new(Name::NONE);
        let (running, likely) = (Running::default(), Likely::default());
        History { ring, running, turning: None, is_muted: false, read_up_to: 0, likely, commands }
    }

    /// Whether it is already the history of one of several servers.
    pub(in crate::locks) fn is_stamped(&self) -> bool {
        self.ring.is_stamped()
    }

    /// Turns recording off or on again. Returns whether it was off.
    pub(in crate::locks) fn mute(&mut self, is_muted: bool) -> bool {
        std::mem::replace(&mut self.is_muted, is_muted)
    }

    /// Records that the history is read: the present entries no longer change.
    pub(in crate::locks) fn is_read(&mut self) {
        self.read_up_to = self.ring.next();
    }

    pub(in crate::locks) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Returns the entries to be read in pieces: a copy, or themselves if merged from several servers. O(n).
    pub(in crate::locks) fn take_to_read(&mut self) -> Ring {
        match self.ring.is_of_several() {
            true => std::mem::replace(&mut self.ring, Ring::new(0, 0)),
            false => self.ring.copy(),
        }
    }

    /// Keeps at most `most` entries from now on.
    pub(in crate::locks) fn set_most(&mut self, most: usize) {
        self.ring.set_most(most);
    }

    /// Returns the memory in bytes. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        size_of::<Self>() + self.ring.memory() + self.commands.heap_bytes()
    }

    /// Begins a request: it causes the events from now on.
    pub(in crate::locks) fn begin(&mut self, request: Request<'_>) {
        let running = &mut self.running;
        running.client = request.client;
        (running.waited_ms, running.ticket) = (request.waited_ms, request.ticket);
        running.by_text = matches!(request.by, By::Text(_));
        running.number += 1;
        running.unit_before = std::mem::replace(&mut running.unit, running.number);
        running.first = self.ring.next();
        running.client_name.clear();
        if !request.client_name.is_empty() {
            running.client_name.extend_from_slice(request.client_name);
        }
        match request.by {
            By::Command(id, name) => {
                running.command = Some((id, name));
                if matches!(name, "lock.history" | "lock.verify") {
                    self.is_read();
                }
            }
            By::Script(by) | By::Text(by) => {
                running.command = None;
                running.script.clear();
                running.script.extend_from_slice(by);
            }
        }
    }

    pub(in crate::locks) fn record(&mut self, now: Now, what: Happening<'_>) {
        if self.is_muted {
            return;
        }
        let by_request = what.client.is_none_or(|client| client == self.running.client && client != 0);
        let by = if by_request { self.by() } else { Name::NONE };
        let since = self.ring.note(now.into());
        let running = &self.running;
        let likely = self.likely;
        let names = &mut self.ring.names;
        let mut named = |likely: Name, db: usize, text: &[u8]| match text {
            [] => Name::NONE,
            text => names.intern_like(likely, db, text),
        };
        let entry = Entry {
            grant: what.grant,
            client: what.client.unwrap_or(running.client),
            ttl_ms: what.ttl_ms.unwrap_or(NO_TTL),
            holds: what.holds,
            total: match what.total {
                Some(total) => total,
                None if what.ticket.is_none() && running.ticket.is_none() => NO_TOTAL,
                None => of_ticket(what.ticket.or(running.ticket.filter(|_| by_request))),
            },
            since,
            waited_ms: if by_request { u32::try_from(running.waited_ms).unwrap_or(u32::MAX) } else { 0 },
            key: named(likely.key, what.db, what.key),
            owner: named(likely.owner, 0, what.owner),
            client_name: if by_request { named(Name::NONE, 0, &running.client_name) } else { Name::NONE },
            by,
            text: named(Name::NONE, 0, &what.text[..what.text.len().min(MAX_TEXT_BYTES)]),
            event: what.event,
            cause: what.cause,
            mode: what.mode,
            traits: Traits::new(what.native, by_request && running.by_text, what.session),
        };
        self.likely = Likely { key: entry.key, owner: entry.owner, by: [likely.by[1], by] };
        self.ring.push(entry);
    }

    fn by(&mut self) -> Name {
        let names = &mut self.ring.names;
        match self.running.command {
            None if self.running.script.is_empty() => Name::NONE,
            None => names.intern_like(self.likely.by[0], 0, &self.running.script),
            Some((id, name)) => {
                if self.commands[id] == Name::NONE {
                    self.commands[id] = names.intern(0, name.as_bytes());
                }
                names.use_again(self.commands[id])
            }
        }
    }

    /// Returns the number of entries that the running request has made. A transaction counts all its commands.
    pub(in crate::locks) fn recorded(&self) -> u64 {
        self.ring.next() - self.recorded_from()
    }

    /// Returns the number of the first of these entries, if there are any.
    pub(in crate::locks) fn recorded_from(&self) -> u64 {
        let (last, from) = self.running.of_transaction;
        if last == self.running.number { from } else { self.running.first }
    }

    /// Marks the running request as a command of a transaction whose entries begin at this number.
    pub(in crate::locks) fn goes_on(&mut self, from: u64) {
        self.running.of_transaction = (self.running.number, from);
        self.running.unit = self.running.unit_before;
    }

    /// Whether the running request is a script.
    #[inline]
    pub(in crate::locks) fn is_of_script(&self) -> bool {
        self.running.command.is_none()
    }

    pub(in crate::locks) fn has_recorded(&self, db: usize, key: &[u8]) -> bool {
        self.last_of_request(db, key, |_| true).is_some()
    }

    /// Returns the last wanted entry of the running request for a key.
    fn last_of_request(&self, db: usize, key: &[u8], wanted: impl Fn(&Entry) -> bool) -> Option<u64> {
        // Most requests have made at most one entry. Comparing names is then cheaper than looking up a number.
        let names = &self.ring.names;
        let mut seq = self.ring.next();
        while seq > self.running.first.max(self.read_up_to) {
            seq -= 1;
            let entry = self.ring.get(seq)?;
            if names.is(entry.key, db, key) && wanted(entry) {
                return Some(seq);
            }
        }
        None
    }

    /// Records a lease that the running request has given a lock. Whether it belongs to an acquisition by this request.
    pub(in crate::locks) fn lease_of_request(&mut self, db: usize, key: &[u8], ttl_ms: i64) -> bool {
        let is_with_lease = |entry: &Entry| {
            matches!(entry.event, Event::Acquired | Event::Reentered | Event::Released | Event::Converted)
        };
        let Some(last) = self.last_of_request(db, key, is_with_lease) else {
            return self.lease_of_transaction(db, key, ttl_ms);
        };
        if let Some(entry) = self.ring.get_mut(last) {
            entry.ttl_ms = ttl_ms;
        }
        if last > self.running.first {
            self.lease_before(last, (db, key), ttl_ms, is_with_lease);
        }
        true
    }

    /// Records a lease that a command of a transaction has given. If another command of the transaction took the lock
    /// without a lease, its entry gets this lease. No client has seen the lock without it.
    #[cold]
    fn lease_of_transaction(&mut self, db: usize, key: &[u8], ttl_ms: i64) -> bool {
        let before = self.running.first;
        let from = self.recorded_from().max(before.saturating_sub(SEVERAL)).max(self.read_up_to);
        let is_without = |entry: &Entry| {
            entry.event == Event::Acquired && entry.ttl_ms == NO_TTL && !entry.is_of_session()
        };
        let mut is_part = false;
        for seq in from..before {
            let is_taken = |entry: &Entry| is_without(entry) && self.ring.names.is(entry.key, db, key);
            if self.ring.get(seq).is_some_and(is_taken)
                && let Some(entry) = self.ring.get_mut(seq)
            {
                entry.ttl_ms = ttl_ms;
                is_part = true;
            }
        }
        is_part
    }

    /// Marks the hold that was just taken by this grant as one that lasts as long as a connection.
    pub(in crate::locks) fn leased_to_session(&mut self, grant: u64) {
        let is_grant = |event| matches!(event, Event::Acquired | Event::Reentered | Event::Converted);
        if let Some(entry) = self.ring.next().checked_sub(1).and_then(|last| self.ring.get_mut(last))
            && entry.grant == grant
            && is_grant(entry.event)
        {
            entry.set_of_session();
        }
    }

    /// Adds the lease to earlier entries of the request, which may have taken the lock for several owners.
    #[cold]
    fn lease_before(
        &mut self,
        last: u64,
        (db, key): (usize, &[u8]),
        ttl_ms: i64,
        is_with_lease: impl Fn(&Entry) -> bool,
    ) {
        for seq in last.saturating_sub(SEVERAL).max(self.running.first).max(self.read_up_to)..last {
            let is_so = |entry: &Entry| is_with_lease(entry) && self.ring.names.is(entry.key, db, key);
            if self.ring.get(seq).is_some_and(is_so)
                && let Some(entry) = self.ring.get_mut(seq)
            {
                entry.ttl_ms = ttl_ms;
            }
        }
    }

    /// Returns the number of the running request among all; for a transaction's command, that of the transaction.
    pub(in crate::locks) fn request(&self) -> u64 {
        self.running.unit
    }

    /// Merges a change of a semaphore into the entry of the running request. Returns whether it has one.
    pub(in crate::locks) fn permits_of_request(&mut self, what: &Happening<'_>) -> bool {
        let found = self.last_of_request(what.db, what.key, |entry| entry.event == Event::Permits);
        if let Some(entry) = found.and_then(|seq| self.ring.get_mut(seq)) {
            (entry.grant, entry.holds, entry.cause) = (what.grant, what.holds, what.cause);
            (entry.ttl_ms, entry.total) = (what.ttl_ms.unwrap_or(NO_TTL), what.total.unwrap_or(NO_TOTAL));
        }
        if let Some(seq) = found.filter(|_| !what.text.is_empty()) {
            self.ring.set_text(seq, what.text);
        }
        found.is_some()
    }

    /// Merges the end of a hold into the partial release that the request made just before. Whether there was one.
    pub(in crate::locks) fn end_of_request(&mut self, db: usize, key: &[u8], owner: &[u8]) -> bool {
        let names = &self.ring.names;
        let partial = |entry: &Entry| entry.event == Event::Released && names.is(entry.owner, 0, owner);
        let found = self.last_of_request(db, key, partial);
        if let Some(entry) = found.and_then(|seq| self.ring.get_mut(seq)) {
            (entry.holds, entry.ttl_ms) = (0, NO_TTL);
        }
        found.is_some()
    }

    /// Merges the running request's native wait with its entry into a fair lock's queue. Whether it has just joined.
    pub(in crate::locks) fn joined_queue(&mut self, what: &Happening<'_>) -> bool {
        let names = &self.ring.names;
        let is_joined = |entry: &Entry| {
            (entry.event, entry.mode) == (Event::Queued, Mode::Fair) && names.is(entry.owner, 0, what.owner)
        };
        let found = self.last_of_request(what.db, what.key, is_joined);
        if let Some(entry) = found.and_then(|seq| self.ring.get_mut(seq)) {
            entry.set_native(what.native);
            entry.total = of_ticket(what.ticket);
        }
        found.is_some()
    }

    /// Merges an owner's departure from a fair lock's queue into the last entry, if that ends the owner's wait.
    pub(in crate::locks) fn left_queue(&mut self, db: usize, key: &[u8], owner: &[u8]) -> bool {
        let names = &self.ring.names;
        let is_its_wait = self.ring.last().is_some_and(|entry| {
            (entry.event, entry.native()) == (Event::LeftQueue, Some(true))
                && names.is(entry.key, db, key)
                && names.is(entry.owner, 0, owner)
        });
        if let Some(entry) = self.ring.get_mut(self.ring.next() - 1).filter(|_| is_its_wait) {
            entry.mode = Mode::Fair;
        }
        is_its_wait
    }

    /// Marks the running request as the one that moves the clock, or ends that.
    pub(in crate::locks) fn turns(&mut self, is_turning: bool) {
        self.turning = is_turning.then(|| self.running.clone());
    }

    /// Records a move of a clock. It is merged into the last entry if it continues that entry's move, by the same
    /// client and in the same direction, and the entry is unread and the last of all servers.
    pub(in crate::locks) fn clock(&mut self, now: Now, from_ms: i64, to_ms: i64) {
        let last = self.ring.next() - 1;
        let client = self.turning.as_ref().map_or(0, |turning| turning.client);
        let may_grow = last >= self.read_up_to && self.ring.is_last_of_all();
        if may_grow
            && let Some(entry) = self.ring.get_mut(last)
            && (entry.event, entry.client) == (Event::Clock, client)
            && entry.holds == from_ms
            && (entry.ttl_ms <= entry.holds) == (from_ms <= to_ms)
        {
            entry.holds = to_ms;
            self.ring.set_last_time(now.into());
            return;
        }
        let turned = Happening::new(Event::Clock, b"", b"");
        let client = self.turning.is_none().then_some(client);
        let running = self.turning.clone().map(|turning| std::mem::replace(&mut self.running, turning));
        self.record(now, Happening { ttl_ms: Some(from_ms), holds: to_ms, client, ..turned });
        if let Some(running) = running {
            self.running = running;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full ring takes no more memory than its entries need, whatever its size.
    #[test]
    fn an_entry_takes_few_bytes_with_its_names() {
        for most in [1_000, 1_024, 1_100] {
            let mut history = History::new(most, 7);
            for n in 0..3 * most {
                let (key, owner) = (format!("lock:{}", n % 100), format!("owner:{}", n % 50));
                let acquired = Happening::new(Event::Acquired, key.as_bytes(), owner.as_bytes());
                history.record(Now { wall_us: 0, monotonic_us: 0 }, acquired);
            }
            let ring = history.ring();
            assert_eq!((ring.next() - ring.first(), ring.first()), (most as u64, 2 * most as u64 + 1));
            let each = history.memory() / most;
            assert!(each <= 120, "{each} bytes an entry");
        }
    }
}
