//! Fields with deadlines. The hash knows no time: its owner decides when a deadline is over.

use super::{Form, Hash, Large, Pair};
use crate::values::Encodings;

impl Hash {
    /// Whether any field has a deadline. O(1).
    #[must_use]
    #[inline]
    pub fn is_timed(&self) -> bool {
        matches!(&self.0, Form::Table(large) if large.deadlines.is_some())
    }

    /// Sets the deadline of an existing field, in milliseconds; returns whether the field exists. `made` is the number
    /// of its making among all deadlines, which wraps around. A small hash becomes large. O(log fields).
    pub fn set_deadline(&mut self, field: &[u8], at_ms: i64, made: u32, enc: &Encodings) -> bool {
        if !self.contains(field) {
            return false;
        }
        let large = self.enlarge(0, enc.seed);
        let Some(position) = large.table.find(field) else { return false };
        large.deadlines.get_or_insert_default().set(position, at_ms, made);
        true
    }

    /// Removes the deadline of a field; returns whether it had one. O(log fields).
    pub fn clear_deadline(&mut self, field: &[u8]) -> bool {
        let Form::Table(large) = &mut self.0 else { return false };
        if large.deadlines.is_none() {
            return false;
        }
        large.table.find(field).is_some_and(|position| large.clear_deadline(position))
    }

    /// The deadline of a field, in milliseconds. O(1).
    #[must_use]
    pub fn deadline(&self, field: &[u8]) -> Option<i64> {
        let Form::Table(large) = &self.0 else { return None };
        large.deadlines.as_ref()?.at(large.table.find(field)?)
    }

    /// The earliest deadline of a field, in milliseconds, and the number of its making. O(1).
    #[must_use]
    pub fn first_deadline(&self) -> Option<(i64, u32)> {
        let Form::Table(large) = &self.0 else { return None };
        large.deadlines.as_ref()?.first().map(|due| (due.at_ms, due.made))
    }

    /// The number of fields that have a deadline. O(1).
    #[must_use]
    pub fn with_deadline(&self) -> usize {
        let Form::Table(large) = &self.0 else { return 0 };
        large.deadlines.as_ref().map_or(0, |deadlines| deadlines.len())
    }

    /// Sets the number of making of all deadlines. O(fields).
    pub fn date_deadlines(&mut self, made: u32) {
        if let Form::Table(large) = &mut self.0
            && let Some(deadlines) = &mut large.deadlines
        {
            deadlines.date(made);
        }
    }

    /// Whether every field has a deadline that is over at `until_ms`. O(fields), O(1) without deadlines.
    #[must_use]
    pub fn is_over(&self, until_ms: i64) -> bool {
        let Form::Table(large) = &self.0 else { return false };
        let Some(deadlines) = &large.deadlines else { return false };
        deadlines.len() == large.table.len() && deadlines.are_over(until_ms)
    }

    /// The field with the earliest deadline, if that is over at `until_ms`. O(1).
    #[must_use]
    pub fn first_over(&self, until_ms: i64) -> Option<&[u8]> {
        let Form::Table(large) = &self.0 else { return None };
        let deadlines = large.deadlines.as_ref()?;
        deadlines.first().filter(|due| due.at_ms <= until_ms)?;
        Some(large.table.entries()[deadlines.first_position()?].split().0)
    }

    /// Removes the field with the earliest deadline, if over at `until_ms`; returns whether it was. O(log fields).
    pub fn remove_first_over(&mut self, until_ms: i64) -> bool {
        let Form::Table(large) = &mut self.0 else { return false };
        let Some(deadlines) = &large.deadlines else { return false };
        let first = deadlines.first().filter(|due| due.at_ms <= until_ms).and(deadlines.first_position());
        first.is_some_and(|position| {
            large.remove_at(position);
            true
        })
    }

    /// The fields and values with their deadlines, in milliseconds.
    pub fn iter_timed(&self) -> impl Iterator<Item = (&[u8], &[u8], Option<i64>)> {
        let deadlines = match &self.0 {
            Form::Packed(_) => None,
            Form::Table(large) => large.deadlines.as_deref(),
        };
        let deadline = move |position| deadlines.and_then(|deadlines| deadlines.at(position));
        self.iter().enumerate().map(move |(position, (field, value))| (field, value, deadline(position)))
    }
}

impl Large {
    /// Removes a field; returns whether it existed.
    pub(super) fn remove(&mut self, field: &[u8]) -> bool {
        if self.deadlines.is_none() {
            return self.table.remove(field).is_some();
        }
        self.table.find(field).is_some_and(|position| {
            self.remove_at(position);
            true
        })
    }

    #[cold]
    fn remove_at(&mut self, position: usize) -> Pair {
        let last = self.table.len() - 1;
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.clear(position);
            deadlines.moved(last, position);
        }
        self.forget_none();
        self.table.remove_at(position)
    }

    /// Removes the deadline of the field at a position; returns whether it had one.
    #[cold]
    pub(super) fn clear_deadline(&mut self, position: usize) -> bool {
        let had = self.deadlines.as_mut().is_some_and(|deadlines| deadlines.clear(position));
        self.forget_none();
        had
    }

    fn forget_none(&mut self) {
        if self.deadlines.as_ref().is_some_and(|deadlines| deadlines.is_empty()) {
            self.deadlines = None;
        }
    }
}
