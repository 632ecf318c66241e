//! The last entries, in order. When there is no more room, the oldest entry is removed.

use super::entries::Entries;
use super::entry::{Entry, Event};
use super::names::{Name, Names};
use super::places::{Places, own_number};
use super::stamps::{StampSource, Stamps};
use super::times::{Since, Times, When};
use lockwheel_resp::number;

/// The faults that keep an answer from its client, by the first word of their text in the history.
const KEPT: [&[u8]; 7] =
    [b"CLOSEAFTER", b"DROPREPLY", b"TRUNCATE", b"DELAYREPLY", b"HOLDREPLY", b"REPLY", b"unsent"];

/// The bytes of names that an entry may have on average. Long names thus cannot take more memory than the ring itself.
const NAMES_PER_ENTRY: usize = 128;
/// The bytes of names for which there is always room.
const NAMES_AT_LEAST: usize = 1 << 20;

/// The maximum number of entries of a ring that readers of waits read from its first entry on. A longer ring is read
/// from a multiple of its size divided by [`PARTS`].
const MAX_EXACT: usize = 1024;
const PARTS: usize = 16;

/// Returns the maximum number of bytes of names for this many entries.
fn most_names(most: usize) -> usize {
    (most * NAMES_PER_ENTRY).max(NAMES_AT_LEAST)
}

#[derive(Debug)]
pub(in crate::locks) struct Ring {
    most: usize,
    /// The maximum number of bytes of names.
    most_names: usize,
    entries: Entries,
    times: Times,
    first: u64,
    pub(super) names: Names,
    /// The stamps of the entries, if the ring is one of several servers.
    stamps: Option<Box<Stamps>>,
    /// The servers of the entries, if they are those of several servers.
    places: Option<Box<Places>>,
    /// Whether some events were never recorded.
    has_gaps: bool,
    /// The servers whose entries are missing because the servers hang.
    left_out: Option<Box<str>>,
}

impl Ring {
    /// Returns an empty ring for up to `most` entries. The seed decides the hash of names.
    pub(super) fn new(most: usize, seed: u64) -> Self {
        Ring {
            most,
            most_names: most_names(most),
            entries: Entries::new(most),
            times: Times::default(),
            first: 1,
            names: Names::new(seed),
            stamps: None,
            places: None,
            has_gaps: false,
            left_out: None,
        }
    }

    /// Returns an empty ring whose entries have stamps among those of several servers.
    pub(super) fn stamped(most: usize, seed: u64, source: StampSource) -> Self {
        Ring { stamps: Some(Box::new(Stamps::new(source))), ..Ring::new(most, seed) }
    }

    /// Returns an empty ring for entries of several servers. The first entry gets the number `first`.
    pub(super) fn of_several(first: u64, places: Places, seed: u64) -> Self {
        let (most, most_names) = (usize::MAX, usize::MAX);
        Ring { most, most_names, first, places: Some(Box::new(places)), ..Ring::new(0, seed) }
    }

    /// Returns a copy for reading, in which the entries keep their numbers. O(n).
    pub(in crate::locks) fn copy(&self) -> Self {
        Ring {
            most: self.most,
            most_names: self.most_names,
            entries: self.entries.clone(),
            times: self.times.clone(),
            first: self.first,
            names: self.names.clone(),
            stamps: None,
            places: self.places.clone(),
            has_gaps: self.has_gaps,
            left_out: self.left_out.clone(),
        }
    }

    /// Returns a copy with the stamps of its entries. O(n).
    pub(in crate::locks) fn copy_to_merge(&self) -> Self {
        Ring { stamps: self.stamps.clone(), ..self.copy() }
    }

    /// Returns the number of entries. O(1).
    pub(in crate::locks) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds the entry `seq` of another ring with its names. `place` is the server of that ring.
    pub(super) fn push_copy(&mut self, (other, place): (&Ring, usize), seq: u64, mut entry: Entry) {
        let mut named = |name: &mut Name| {
            if *name != Name::NONE {
                *name = self.names.intern(other.db(*name).unwrap_or(0), other.text(*name));
            }
        };
        named(&mut entry.key);
        named(&mut entry.owner);
        named(&mut entry.client_name);
        named(&mut entry.by);
        named(&mut entry.text);
        entry.since = self.note(other.when(seq, &entry));
        self.push(entry);
        if let Some(places) = &mut self.places {
            places.of.push(u8::try_from(place).unwrap_or(u8::MAX));
        }
    }

    /// Whether the entries have stamps.
    pub(super) fn is_stamped(&self) -> bool {
        self.stamps.is_some()
    }

    pub(super) fn is_last_of_all(&self) -> bool {
        self.stamps.as_ref().is_none_or(|stamps| stamps.is_last_of_all())
    }

    pub(super) fn stamped_since(&self) -> u64 {
        self.stamps.as_ref().map_or(0, |stamps| stamps.since)
    }

    pub(super) fn first_stamp(&self) -> Option<u64> {
        self.stamps.as_ref()?.first()
    }

    /// Returns the stamp of an entry. O(1).
    pub(super) fn stamp(&self, seq: u64) -> Option<u64> {
        self.stamps.as_ref()?.get(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// Returns the first entry whose stamp is not below `from`: the stamp, and the entry's own number. O(log n).
    pub(super) fn first_stamped(&self, from: u64) -> Option<(u64, u64)> {
        let before = self.stamps.as_ref()?.count_before(from);
        let seq = self.first + before as u64;
        Some((self.stamp(seq)?, seq))
    }

    /// Returns the server of an entry, if the entries are those of several servers.
    pub(in crate::locks) fn place(&self, seq: u64) -> Option<&[u8]> {
        self.places.as_ref()?.name(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// Returns the number of an entry's server, from 0; 0 if there is only one server.
    pub(in crate::locks) fn place_number(&self, seq: u64) -> usize {
        let at = seq.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        let place = self.places.as_ref().zip(at).and_then(|(places, at)| places.of.get(at));
        place.copied().map_or(0, usize::from)
    }

    /// Returns the lease of permits that were taken, in milliseconds, if they have one.
    pub(in crate::locks) fn lease_of(&self, entry: &Entry) -> Option<i64> {
        number::parse_i64(self.text(entry.text)).filter(|_| entry.event == Event::Permits)
    }

    pub(super) fn set_text(&mut self, seq: u64, text: &[u8]) {
        let text = self.names.intern(0, text);
        let before = self.get_mut(seq).map(|entry| std::mem::replace(&mut entry.text, text));
        self.names.release(before.unwrap_or(text));
    }

    /// Whether the entries are those of several servers.
    pub(in crate::locks) fn is_of_several(&self) -> bool {
        self.places.is_some()
    }

    /// Whether an entry is a fault that kept back the answer of the request before it, or sent another one instead.
    pub(in crate::locks) fn keeps_answer(&self, entry: &Entry) -> bool {
        let word = self.text(entry.text).split(|&byte| byte == b' ').next().unwrap_or_default();
        entry.event == Event::Fault && KEPT.contains(&word)
    }

    /// Returns the entries of the request whose answer a fault kept back, the last first.
    pub(in crate::locks) fn unanswered(&self, fault: u64) -> impl Iterator<Item = (u64, &Entry)> {
        let count = self.get(fault).and_then(|entry| usize::try_from(entry.holds).ok()).unwrap_or(0);
        let before = (self.first..fault).rev().map_while(|seq| Some((seq, self.get(seq)?)));
        // Other servers may have entries in between.
        before.filter(move |(seq, _)| self.place(*seq) == self.place(fault)).take(count)
    }

    pub(in crate::locks) fn client_of(&self, entry: &Entry) -> u64 {
        if self.is_of_several() { own_number(entry.client) } else { entry.client }
    }

    /// Keeps at most `most` entries from now on.
    pub(super) fn set_most(&mut self, most: usize) {
        (self.most, self.most_names) = (most, most_names(most));
        self.make_room(0);
        self.entries.resize(most);
    }

    /// Records the time of the next entry. O(1).
    #[inline]
    pub(super) fn note(&mut self, when: When) -> Since {
        self.times.note(self.next(), when)
    }

    /// Adds an entry whose names and time have been recorded. O(1).
    pub(super) fn push(&mut self, entry: Entry) {
        self.make_room(1);
        self.entries.push(entry);
        if let Some(stamps) = &mut self.stamps {
            stamps.push();
        }
    }

    /// Removes the oldest entries until there is room for `more` new ones.
    fn make_room(&mut self, more: usize) {
        while self.entries.len() + more > self.most || self.names.text_bytes() > self.most_names {
            let Some(oldest) = self.entries.pop() else { return };
            self.first += 1;
            if let Some(stamps) = &mut self.stamps {
                stamps.pop();
            }
            self.times.forget_before(self.first);
            oldest.names().into_iter().for_each(|name| self.names.release(name));
        }
    }

    /// Changes the time of the last entry. O(1).
    pub(super) fn set_last_time(&mut self, when: When) {
        let Some(seq) = self.next().checked_sub(1) else { return };
        let since = self.times.note(seq, when);
        if let Some(last) = self.get_mut(seq) {
            last.since = since;
        }
    }

    /// Returns the time of an entry. O(log n), n how often clocks were moved.
    pub(in crate::locks) fn when(&self, seq: u64, entry: &Entry) -> When {
        self.times.when(seq, entry.since).unwrap_or(When { wall_ms: 0, monotonic_ms: 0 })
    }

    /// Returns the number of the next entry. O(1).
    pub(in crate::locks) fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    pub(in crate::locks) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the first entry that counts for waits by subscriptions. Until entries are removed, it is
    /// the first kept one. In a long ring it then moves in steps, at which a reader reads anew. O(1).
    pub(in crate::locks) fn first_of_waits(&self) -> u64 {
        let step = (self.most / PARTS) as u64;
        match self.first > 1 && self.most > MAX_EXACT && !self.is_of_several() {
            true => self.first.checked_next_multiple_of(step).unwrap_or(self.first).min(self.next()),
            false => self.first,
        }
    }

    /// Whether older entries were removed, or some were never kept.
    pub(in crate::locks) fn is_truncated(&self) -> bool {
        self.first > 1 || self.has_gaps || self.left_out.is_some()
    }

    /// Whether one of several servers keeps no history.
    pub(in crate::locks) fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// Returns the servers whose entries are missing because the servers hang, if there are any.
    pub(in crate::locks) fn left_out(&self) -> Option<&str> {
        self.left_out.as_deref()
    }

    /// Records servers that hang: their entries are missing.
    pub(super) fn leave_out(&mut self, servers: &str) {
        self.left_out = Some(servers.into());
    }

    /// Records that one of several servers keeps no history: its entries are missing.
    pub(super) fn note_gaps(&mut self) {
        self.has_gaps = true;
    }

    /// Returns the last entry. O(1).
    pub(super) fn last(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// Returns an entry. O(1).
    pub(in crate::locks) fn get(&self, seq: u64) -> Option<&Entry> {
        self.entries.get(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// Returns an entry for modification. O(1).
    pub(super) fn get_mut(&mut self, seq: u64) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// Returns the entries after this number, each with its own number. O(1) for the first.
    pub(in crate::locks) fn after(&self, seq: u64) -> impl DoubleEndedIterator<Item = (u64, &Entry)> {
        let from = usize::try_from((seq + 1).saturating_sub(self.first)).unwrap_or(usize::MAX);
        let from = from.min(self.entries.len());
        let first = self.first + from as u64;
        self.entries.from(from).enumerate().map(move |(at, entry)| (first + at as u64, entry))
    }

    /// Returns the text of a name, empty for no name. O(1).
    pub(in crate::locks) fn text(&self, name: Name) -> &[u8] {
        self.names.text(name).unwrap_or_default()
    }

    pub(in crate::locks) fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the database of a key's name. O(1).
    pub(in crate::locks) fn db(&self, name: Name) -> Option<usize> {
        self.names.db(name)
    }

    /// Returns the memory in bytes. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        self.entries.memory() + self.times.memory() + self.names.memory()
    }
}
