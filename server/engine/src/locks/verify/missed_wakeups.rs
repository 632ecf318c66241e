//! `missed-wakeup`: a lock is not free for long while somebody waits for it.

use super::super::history::{Entry, Event, Name};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::{Lock, View, Waiting};
use crate::time::Now;

#[derive(Debug)]
pub(super) struct MissedWakeups {
    limit_ms: i64,
}

impl MissedWakeups {
    /// Free for longer than so many milliseconds of the monotonic clock is too long.
    pub(super) fn new(limit_ms: u64) -> Self {
        MissedWakeups { limit_ms: i64::try_from(limit_ms).unwrap_or(i64::MAX) }
    }

    /// A lock was free until `now_ms`.
    fn look(&self, view: View<'_>, key: Name, lock: &Lock, now_ms: i64, findings: &mut Vec<Finding>) {
        let (Some(free_since_ms), Some(first)) = (lock.free_since_ms, first_kept(lock)) else { return };
        let free_ms = now_ms - free_since_ms.max(first.since_ms);
        if free_ms <= self.limit_ms {
            return;
        }
        let freed = lock.ends.values().map(|(seq, _)| *seq).max();
        let (name, waits) = (words(view.ring, key), first.client);
        findings.push(Finding {
            level: Level::Suspect,
            invariant: "missed-wakeup",
            key,
            seqs: freed.into_iter().chain([first.seq]).collect(),
            owners: if first.owner == Name::NONE { Vec::new() } else { vec![first.owner] },
            text: format!("{name} was free for {free_ms} ms while client {waits} waited for it"),
        });
    }
}

/// The first of those whom nothing but the lock keeps waiting. One that wants several locks may wait for another of
/// them, and those who wait natively stand in line with it.
fn first_kept(lock: &Lock) -> Option<&Waiting> {
    let is_excused = lock.waiting.iter().any(|waiting| waiting.wants_several);
    lock.waiting.iter().find(|waiting| !(is_excused && waiting.is_native))
}

impl Invariant for MissedWakeups {
    fn see(&mut self, view: View<'_>, _: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        if matches!(entry.event, Event::Acquired | Event::LeftQueue)
            && let Some(lock) = view.lock(entry.key)
            && (entry.event == Event::Acquired || lock.waiting.len() == 1)
        {
            self.look(view, entry.key, lock, entry.monotonic_ms, findings);
        }
    }

    fn end(&mut self, view: View<'_>, now: Now, findings: &mut Vec<Finding>) {
        for (&key, lock) in &view.locks.by_key {
            self.look(view, key, lock, now.monotonic_ms(), findings);
        }
    }
}
