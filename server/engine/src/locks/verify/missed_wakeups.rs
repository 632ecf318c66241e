//! `missed-wakeup`: a lock does not stay free for long while a client waits for it.

use super::super::history::{Entry, Event, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::line::Waiting;
use super::locks::{Lock, View};
use super::waits::Waits;
use lockwheel_store::time::Now;

/// The maximum number of subscriptions to a lock's channel that are examined to find a waiter.
const MAX_LISTENERS: usize = 64;

#[derive(Debug)]
pub(super) struct MissedWakeups {
    limit_ms: i64,
    waits: Waits,
}

impl MissedWakeups {
    /// Creates the check. A lock may be free for at most `limit_ms` milliseconds of the monotonic clock.
    pub(super) fn new(limit_ms: u64) -> Self {
        MissedWakeups { limit_ms: i64::try_from(limit_ms).unwrap_or(i64::MAX), waits: Waits::default() }
    }

    /// Reports a lock that was free for too long until `now_ms`.
    fn look(&self, view: View<'_>, key: Name, lock: &Lock, now_ms: i64, findings: &mut Findings) {
        let Some(free_since_ms) = lock.free_since_ms else { return };
        if now_ms.saturating_sub(free_since_ms) <= self.limit_ms {
            return;
        }
        // A request for several locks may wait for another lock, and native waiters stand in one queue with it.
        let native = lock.waiting.first_native().filter(|_| !lock.waiting.has_several());
        let first = native.into_iter().chain(lock.waiting.listening().take(MAX_LISTENERS));
        let missed = first.filter_map(|waiting| {
            // Native waiters stood in one queue with a request for several locks until that request left.
            let stood_until_ms = lock.several_left_ms.filter(|_| waiting.is_native).unwrap_or(i64::MIN);
            let free_ms = now_ms - free_since_ms.max(waiting.since_ms).max(stood_until_ms);
            (free_ms > self.limit_ms).then_some((waiting, free_ms))
        });
        let first =
            missed.filter(|(waiting, _)| self.is_kept(view, key, waiting)).min_by_key(|(one, _)| one.seq);
        if let Some((waiting, free_ms)) = first {
            findings.push(view.ring, self.missed(view, (key, lock), waiting, free_ms));
        }
    }

    /// Whether a client really waits: unlike an interrupted thread in a fair queue, it listens to its own channel.
    fn is_kept(&self, view: View<'_>, key: Name, waiting: &Waiting) -> bool {
        waiting.is_native || self.waits.listener_waits(view, key, waiting.client, waiting.owner)
    }

    fn missed(&self, view: View<'_>, (key, lock): (Name, &Lock), first: &Waiting, free_ms: i64) -> Finding {
        let freed = lock.last_end;
        let (name, waits) = (words(view.ring, key), first.client);
        Finding {
            level: Severity::Suspect,
            invariant: "missed-wakeup",
            key,
            seqs: freed.into_iter().chain([first.seq]).collect(),
            owners: if first.owner == Name::NONE { Vec::new() } else { vec![first.owner] },
            text: format!("{name} was free for {free_ms} ms while client {waits} waited for it"),
        }
    }
}

impl Invariant for MissedWakeups {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        if matches!(entry.event, Event::Acquired | Event::LeftQueue)
            && let Some(lock) = view.lock(entry.key)
            && (entry.event == Event::Acquired || lock.waiting.len() == 1)
        {
            let at_ms = view.ring.when(seq, entry).monotonic_ms;
            self.look(view, entry.key, lock, at_ms, findings);
        }
        self.waits.take_in(view, seq, entry);
    }

    fn end(&mut self, view: View<'_>, now: Now, findings: &mut Findings) {
        for (&key, lock) in &view.locks.by_key {
            self.look(view, key, lock, now.monotonic_ms(), findings);
        }
    }

    fn memory(&self) -> usize {
        self.waits.memory()
    }
}
