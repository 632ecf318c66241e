//! The engine's reports to the history: the running request, the waiters, moves of clocks, and faults.

use super::history::{Event, Filter, Happening, History, Merging, Request, Ring};
use super::history_work::{MAX_AT_ONCE, PIECE};
use super::ledger::ReleaseCause;
use super::records::LockRecords;
use crate::finally::finally;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;

fn history(keyspace: &mut Keyspace) -> Option<&mut History> {
    LockRecords::in_keyspace_mut(keyspace)?.history_mut()
}

/// Begins a request that is about to run.
pub(crate) fn request_begins(keyspace: &mut Keyspace, request: Request<'_>) {
    if let Some(history) = history(keyspace) {
        history.begin(request);
    }
}

/// Records an event that does not show in a change of keys.
pub(crate) fn happened(keyspace: &mut Keyspace, now: Now, what: Happening<'_>) {
    if let Some(history) = history(keyspace) {
        let is_wait = (what.event, what.native) == (Event::Queued, Some(true));
        if !is_wait || !history.joined_queue(&what) {
            history.record(now, what);
        }
    }
}

/// Records why a client does not get the answer to the running request, unless it has made no entries.
pub(crate) fn answer_kept(keyspace: &mut Keyspace, now: Now, client: u64, text: &[u8]) {
    if let Some(history) = history(keyspace)
        && let count @ 1.. = history.recorded()
    {
        let holds = i64::try_from(count).unwrap_or(i64::MAX);
        let kept = Happening { client: Some(client), text, holds, ..Happening::new(Event::Fault, b"", b"") };
        history.record(now, kept);
    }
}

/// Returns the number of the first entry of the running request, if it makes one. O(1).
pub(crate) fn recorded_from(keyspace: &mut Keyspace) -> u64 {
    history(keyspace).map_or(0, |history| history.recorded_from())
}

/// Marks the request that has just begun as a command of the transaction whose first entry has this number.
pub(crate) fn request_goes_on(keyspace: &mut Keyspace, from: u64) {
    if let Some(history) = history(keyspace) {
        history.goes_on(from);
    }
}

/// Returns the number of entries that the running request has made. O(1).
pub(crate) fn recorded(keyspace: &mut Keyspace) -> i64 {
    history(keyspace).map_or(0, |history| i64::try_from(history.recorded()).unwrap_or(i64::MAX))
}

/// Records a move of the wall clock, from and to these times in milliseconds.
pub(crate) fn clock_turned(keyspace: &mut Keyspace, now: Now, from_ms: i64, to_ms: i64) {
    if let Some(history) = history(keyspace) {
        history.clock(now, from_ms, to_ms);
    }
}

/// Marks the running request as the one that moves the clock, or ends that.
pub(crate) fn request_turns(keyspace: &mut Keyspace, is_turning: bool) {
    if let Some(history) = history(keyspace) {
        history.turns(is_turning);
    }
}

/// Records that the whole history is read, together with that of other servers.
pub(crate) fn history_is_read(keyspace: &mut Keyspace) {
    if let Some(history) = history(keyspace) {
        history.is_read();
    }
}

/// Runs `act`. The holds that it ends are lost because another server takes over, which knows of other holds.
pub(crate) fn failing_over<T>(keyspace: &mut Keyspace, act: impl FnOnce(&mut Keyspace) -> T) -> T {
    let declare = |keyspace: &mut Keyspace, cause| {
        if let Some(records) = LockRecords::in_keyspace_mut(keyspace) {
            records.ledger.declare(cause);
        }
    };
    declare(keyspace, Some(ReleaseCause::FailedOver));
    finally(keyspace, act, |keyspace| declare(keyspace, None))
}

/// Turns recording off or on again, while another server acts and records its own entries. Returns whether it was off.
pub(crate) fn mute_history(keyspace: &mut Keyspace, is_muted: bool) -> bool {
    history(keyspace).is_some_and(|history| history.mute(is_muted))
}

/// The histories of several servers as one.
#[derive(Debug)]
pub(crate) struct MergedHistory(Box<History>);

impl MergedHistory {
    /// Returns the merged history of these keyspaces and their servers' names; `None` if all histories are off.
    pub(crate) fn of(servers: &[(&Keyspace, String)], seed: u64) -> Option<Self> {
        let rings = recorded_by(servers);
        let lacks_some = rings.len() < servers.len();
        (!rings.is_empty()).then(|| MergedHistory(Box::new(Merging::new(rings, lacks_some, seed).finish())))
    }

    pub(super) fn ring(&self) -> &Ring {
        self.0.ring()
    }

    /// Runs `act` while this is the history of a keyspace, whether the keyspace's own history is on or off.
    pub(crate) fn instead<T>(self, keyspace: &mut Keyspace, act: impl FnOnce(&mut Keyspace) -> T) -> T {
        let own = exchange(keyspace, Some(self.0));
        finally(keyspace, act, |keyspace| {
            exchange(keyspace, own);
        })
    }
}

#[derive(Debug)]
pub(crate) struct MergingHistory(Box<Merging<Ring>>);

impl MergingHistory {
    /// Begins to merge the histories of these keyspaces and their servers' names; `None` if all are off. O(n) entries.
    pub(crate) fn of(servers: &[(&Keyspace, String)], seed: u64) -> Option<Self> {
        let rings = recorded_by(servers).into_iter().map(|(ring, name)| (ring.copy_to_merge(), name));
        let rings: Vec<_> = rings.collect();
        let lacks_some = rings.len() < servers.len();
        (!rings.is_empty()).then(|| MergingHistory(Box::new(Merging::new(rings, lacks_some, seed))))
    }

    /// Records the servers that are missing because they hang: their addresses, separated by spaces.
    pub(crate) fn leave_out(&mut self, servers: &str) {
        self.0.leave_out(servers);
    }

    /// Whether it must be merged in pieces. O(1).
    pub(crate) fn is_long(&self) -> bool {
        self.0.left() > MAX_AT_ONCE
    }

    /// Merges a piece. Returns whether it was the last.
    pub(crate) fn go_on(&mut self) -> bool {
        self.0.go_on(PIECE)
    }

    pub(crate) fn finish(self) -> MergedHistory {
        MergedHistory(Box::new(self.0.finish()))
    }

    /// Returns the memory of the copies and of the merged entries in bytes. O(n), n the servers.
    pub(crate) fn memory(&self) -> usize {
        self.0.memory()
    }
}

/// Returns the histories of these keyspaces that are on.
fn recorded_by<'a>(servers: &[(&'a Keyspace, String)]) -> Vec<(&'a Ring, Box<[u8]>)> {
    let rings = servers.iter().filter_map(|(keyspace, name)| {
        let records = LockRecords::in_keyspace(keyspace)?;
        Some((records.history()?.ring(), name.as_bytes().into()))
    });
    rings.collect()
}

/// Replaces the history of a keyspace, or removes it. Returns the previous one.
fn exchange(keyspace: &mut Keyspace, history: Option<Box<History>>) -> Option<Box<History>> {
    LockRecords::in_keyspace_mut(keyspace)?.exchange_history(history)
}

/// The engine's view of the history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HistoryReader<'a> {
    ring: &'a Ring,
    number: u64,
}

impl<'a> HistoryReader<'a> {
    /// Returns the history of a keyspace, if it is on.
    pub(crate) fn of(keyspace: &'a Keyspace) -> Option<Self> {
        let records = LockRecords::in_keyspace(keyspace)?;
        Some(HistoryReader { ring: records.history()?.ring(), number: records.histories })
    }

    /// Returns the numbers of the entries of this kind after `seq` that match a filter.
    pub(crate) fn events(self, event: Event, filter: &'a Filter, seq: u64) -> impl Iterator<Item = u64> + 'a {
        let wanted = self.ring.after(seq).filter(move |(_, entry)| entry.event == event);
        wanted.filter(move |(_, entry)| filter.wants(self.ring, entry)).map(|(seq, _)| seq)
    }

    /// Returns the number of this history among all that have begun. Each history numbers its entries from 1.
    pub(crate) fn number(self) -> u64 {
        self.number
    }

    pub(crate) fn first(self) -> u64 {
        self.ring.first()
    }

    /// Returns the number of the last entry, or 0 if there is none.
    pub(crate) fn last(self) -> u64 {
        self.ring.next() - 1
    }
}
