//! `permits-bound`: a semaphore's available and held permits add up to its total, and no client takes unavailable ones.

use super::super::history::{Cause, Entry, Event, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::map_heap_bytes;
use std::collections::BTreeMap;

/// The last entry of each semaphore, and the number of excess permits that it showed.
#[derive(Debug, Default)]
pub(super) struct Permits {
    last: BTreeMap<Name, (u64, i64)>,
}

impl Permits {
    /// Returns the error in an entry that shows `left` available permits and `excess` permits beyond the total.
    fn wrong(entry: &Entry, left: i64, excess: i64, before: i64) -> Option<String> {
        let held = entry.grant;
        if entry.cause == Cause::Acquire && left < 0 {
            return Some(format!("{} permits were taken that were not available", left.saturating_neg()));
        }
        let total = entry.total().filter(|_| excess != 0 && excess != before)?;
        Some(format!("{left} permits are available and {held} are held, but the total is {total}"))
    }
}

impl Invariant for Permits {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        if entry.event != Event::Permits {
            return;
        }
        let Some(left) = entry.ttl() else {
            // The semaphore has ended.
            self.last.remove(&entry.key);
            return;
        };
        let shown = left.saturating_add_unsigned(entry.grant);
        let excess = entry.total().map_or(0, |total| shown.saturating_sub(total));
        let last = self.last.insert(entry.key, (seq, excess)).filter(|_| entry.cause != Cause::Init);
        let before = last.map_or(0, |(_, excess)| excess);
        if let Some(wrong) = Permits::wrong(entry, left, excess, before) {
            let name = words(view.ring, entry.key);
            let seqs = last.map(|(seq, _)| seq).into_iter().chain([seq]).collect();
            let (of, text) = ((entry.key, entry.owner), format!("{name}: {wrong}"));
            findings.push(view.ring, Finding::new(Severity::Violation, "permits-bound", of, seqs, text));
        }
    }

    fn memory(&self) -> usize {
        map_heap_bytes(&self.last)
    }
}
