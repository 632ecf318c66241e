//! The holds of a lock, indexed in the orders that searches need.

use super::super::history::{Cause, Entry, Mode, Name, Ring};
use lockwheel_store::memory::{map_heap_bytes, set_heap_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{self, Excluded, Unbounded};

/// Returns the lower bound at which an iteration over names continues after `name`.
pub(super) fn after(name: Option<Name>) -> Bound<Name> {
    name.map_or(Unbounded, Excluded)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    /// The entry of the grant, and the number of the grant.
    pub(super) seq: u64,
    pub(super) grant: u64,
    pub(super) mode: Mode,
    pub(super) granted_at: usize,
    pub(super) client: u64,
    pub(super) client_name: Name,
    /// The lease in milliseconds, and its deadline on the wall clock.
    pub(super) ttl_ms: Option<i64>,
    pub(super) deadline_ms: Option<i64>,
    /// Whether the hold lasts as long as a connection, which renews the lease.
    pub(super) session: bool,
    /// The server that set the lease last.
    pub(super) place: usize,
}

impl Hold {
    /// Whether an expiry ended only one server's copy of the hold: it did not know of another's later lease.
    pub(super) fn outlives(&self, ring: &Ring, seq: u64, entry: &Entry) -> bool {
        let is_later = self.deadline_ms.is_none_or(|deadline_ms| deadline_ms > ring.when(seq, entry).wall_ms);
        entry.cause == Cause::Expired && self.place != ring.place_number(seq) && is_later
    }
}

/// The maximum number of holds of several servers that are counted where only the number matters.
const MAX_COUNTED: usize = 1024;

/// The holds of a lock by their fields, by their grants, and by what they exclude.
#[derive(Debug, Default)]
pub(super) struct Holds {
    by_field: BTreeMap<Name, Hold>,
    by_grant: BTreeSet<(u64, Name)>,
    /// The fields by mode, by the server of the grant, and by the end of the lease in wall milliseconds.
    by_mode: BTreeSet<(Mode, usize, i64, Name)>,
    counts: BTreeMap<(Mode, usize), usize>,
}

fn by_mode(field: Name, hold: &Hold) -> (Mode, usize, i64, Name) {
    (hold.mode, hold.granted_at, hold.deadline_ms.unwrap_or(i64::MAX), field)
}

impl Holds {
    /// Returns the memory of all holds in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        map_heap_bytes(&self.by_field)
            + set_heap_bytes(&self.by_grant)
            + set_heap_bytes(&self.by_mode)
            + map_heap_bytes(&self.counts)
    }

    /// Returns the hold of a field. O(log n).
    pub(super) fn get(&self, field: Name) -> Option<&Hold> {
        self.by_field.get(&field)
    }

    /// Whether a field holds the lock. O(log n).
    pub(super) fn contains(&self, field: Name) -> bool {
        self.by_field.contains_key(&field)
    }

    /// Returns the number of holds. O(1).
    pub(super) fn len(&self) -> usize {
        self.by_field.len()
    }

    /// Whether the lock has no holder. O(1).
    pub(super) fn is_empty(&self) -> bool {
        self.by_field.is_empty()
    }

    /// Whether there is a holder, and all holders share the lock. O(log n).
    pub(super) fn are_shared(&self) -> bool {
        let modes = [self.counts.first_key_value(), self.counts.last_key_value()];
        modes.into_iter().all(|count| count.is_some_and(|((mode, _), _)| *mode == Mode::Shared))
    }

    /// Returns the field after `field` in the order of the numbers of names, or the first if there is none. O(log n).
    pub(super) fn field_after(&self, field: Option<Name>) -> Option<Name> {
        self.by_field.range((after(field), Unbounded)).next().map(|(field, _)| *field)
    }

    /// Adds or replaces the hold of a field. O(log n).
    pub(super) fn insert(&mut self, field: Name, hold: Hold) {
        self.remove(field);
        self.by_grant.insert((hold.grant, field));
        self.by_mode.insert(by_mode(field, &hold));
        *self.counts.entry((hold.mode, hold.granted_at)).or_default() += 1;
        self.by_field.insert(field, hold);
    }

    /// Removes the hold of a field. O(log n).
    pub(super) fn remove(&mut self, field: Name) -> Option<Hold> {
        let hold = self.by_field.remove(&field)?;
        self.by_grant.remove(&(hold.grant, field));
        self.by_mode.remove(&by_mode(field, &hold));
        if let Some(count) = self.counts.get_mut(&(hold.mode, hold.granted_at)) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&(hold.mode, hold.granted_at));
            }
        }
        Some(hold)
    }

    /// Changes the hold of a field, if it has one. O(log n).
    pub(super) fn change(&mut self, field: Name, change: impl FnOnce(&mut Hold)) {
        if let Some(mut hold) = self.remove(field) {
            change(&mut hold);
            self.insert(field, hold);
        }
    }

    /// Returns the field of a grant. O(log n).
    pub(super) fn of_grant(&self, grant: u64) -> Option<Name> {
        self.by_grant
            .range((grant, Name::NONE)..)
            .next()
            .filter(|(of, _)| *of == grant)
            .map(|(_, field)| *field)
    }

    /// Returns the holds with these modes at these servers, ending after `over_ms` if given. O(log n) for the first.
    pub(super) fn of_modes<'a>(
        &'a self,
        is_meant: impl Fn(Mode, usize) -> bool + 'a,
        over_ms: Option<i64>,
    ) -> impl Iterator<Item = (Name, &'a Hold)> {
        let from_ms = over_ms.map_or(i64::MIN, |over_ms| over_ms.saturating_add(1));
        let modes = self.counts.keys().copied().filter(move |(mode, place)| is_meant(*mode, *place));
        let fields = modes.flat_map(move |(mode, place)| {
            let from = self.by_mode.range((mode, place, from_ms, Name::NONE)..);
            from.take_while(move |(of, at, ..)| (*of, *at) == (mode, place)).map(|(.., field)| *field)
        });
        fields.filter_map(|field| Some((field, self.by_field.get(&field)?)))
    }

    /// Returns the number of holds of [`Self::of_modes`]; with `over_ms` a lower bound. O(log n).
    pub(super) fn count_of_modes(
        &self,
        is_meant: impl Fn(Mode, usize) -> bool,
        over_ms: Option<i64>,
    ) -> usize {
        if over_ms.is_some() {
            return self.of_modes(is_meant, over_ms).take(MAX_COUNTED).count();
        }
        self.counts.iter().filter(|((mode, place), _)| is_meant(*mode, *place)).map(|(_, count)| count).sum()
    }
}
