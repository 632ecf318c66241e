//! The verification of a history in pieces, and its verdict.

use super::super::history::{Entry, Ring};
use super::super::records::VerifyLimits;
use super::finding::Severity;
use super::findings::{Findings, Wanted};
use super::invariant::Invariant;
use super::locks::{Locks, View};
use super::{
    deadlocks::Deadlocks, eternal_locks::EternalLocks, exclusion::Exclusion, fair_order::FairOrder,
    fences::Fences, given_permits::GivenPermits, habits::Habits, herds::Herds, late_owners::LateOwners,
    layout_mix::LayoutMix, missed_wakeups::MissedWakeups, permits::Permits, releases::Releases,
    tokens::Tokens, unanswered::UnansweredAcquires, watchdogs::Watchdogs,
};
use lockwheel_store::time::Now;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All invariants held.
    Ok,
    /// An invariant may have been violated.
    Suspect,
    Violated,
    /// The history is off or incomplete.
    Inconclusive,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Suspect => "suspect",
            Verdict::Violated => "violated",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// Returns the verdict for the worst finding. Lints alone leave it `ok`: they are advice.
    pub(super) fn of(worst: Option<Severity>, is_truncated: bool) -> Self {
        match worst {
            Some(Severity::Violation) => Verdict::Violated,
            Some(Severity::Suspect) => Verdict::Suspect,
            Some(Severity::Lint) | None if is_truncated => Verdict::Inconclusive,
            Some(Severity::Lint) | None => Verdict::Ok,
        }
    }
}

/// The reply's `reason` while the history is off.
pub(super) const HISTORY_IS_OFF: &str = "the history is off: CONFIG SET lock-history yes turns it on";

/// Returns the reason why a history is incomplete, if it is.
pub(super) fn reason(ring: &Ring) -> Option<Cow<'static, str>> {
    if let Some(servers) = ring.left_out() {
        Some(format!("the history of servers that hang is missing: {servers}").into())
    } else if ring.has_gaps() {
        Some(
            "the history is off at another server of this process: CONFIG SET lock-history yes turns it on there"
                .into(),
        )
    } else if ring.is_truncated() {
        Some("the oldest entries of the history were dropped: lock-history-max sets how many are kept".into())
    } else {
        None
    }
}

/// The steps that searches may take for each entry of a piece.
const STEPS_PER_ENTRY: u64 = 16;

#[derive(Debug)]
pub(super) struct Verification {
    invariants: Vec<Box<dyn Invariant>>,
    locks: Locks,
    findings: Findings,
    /// The number of the last examined entry.
    seen: u64,
    /// The number of invariants whose end has been checked.
    ended: usize,
}

impl Verification {
    pub(super) fn new(wanted: Wanted, limits: VerifyLimits) -> Self {
        let invariants: Vec<Box<dyn Invariant>> = vec![
            Box::new(Exclusion),
            Box::new(LayoutMix),
            Box::new(LateOwners),
            Box::<Fences>::default(),
            Box::<Tokens>::default(),
            Box::<Releases>::default(),
            Box::<FairOrder>::default(),
            Box::<EternalLocks>::default(),
            Box::new(MissedWakeups::new(limits.wakeup_ms)),
            Box::new(Herds::new(limits.herd)),
            Box::<Deadlocks>::default(),
            Box::<UnansweredAcquires>::default(),
            Box::<Watchdogs>::default(),
            Box::<Permits>::default(),
            Box::<GivenPermits>::default(),
            Box::<Habits>::default(),
        ];
        let (locks, findings) = (Locks::default(), Findings::new(wanted));
        Verification { invariants, locks, findings, seen: 0, ended: 0 }
    }

    /// Returns the approximate memory of the state in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        let known: usize = self.invariants.iter().map(|invariant| invariant.memory()).sum();
        known + self.locks.memory() + self.findings.memory()
    }

    /// Examines `count` more entries, then the final locks, where each invariant counts as one. Returns whether all is
    /// done. Long searches continue in the next piece. O(n log n), n the entries of the history.
    pub(super) fn go_on(&mut self, ring: &Ring, now: Now, count: usize) -> bool {
        let mut steps = (count as u64).saturating_mul(STEPS_PER_ENTRY);
        let mut left = count;
        for (seq, entry) in ring.after(self.seen).take(count) {
            self.locks.owners.note(ring, entry.owner);
            if !self.prepare(ring, Some((seq, entry)), &mut steps) {
                return false;
            }
            for invariant in &mut self.invariants {
                invariant.see(View { ring, locks: &self.locks }, seq, entry, &mut self.findings);
            }
            self.locks.take_in(ring, seq, entry);
            (self.seen, left) = (seq, left - 1);
        }
        if left == 0 || !self.prepare(ring, None, &mut steps) {
            return false;
        }
        let to_end = self.invariants.iter_mut().skip(self.ended).take(left);
        for invariant in to_end {
            invariant.end(View { ring, locks: &self.locks }, now, &mut self.findings);
            self.ended += 1;
        }
        self.ended == self.invariants.len()
    }

    /// Does the long work of the invariants before an entry, or before the end. Returns whether the work is done.
    fn prepare(&mut self, ring: &Ring, next: Option<(u64, &Entry)>, steps: &mut u64) -> bool {
        let view = View { ring, locks: &self.locks };
        let (invariants, findings) = (self.invariants.iter_mut(), &mut self.findings);
        invariants.skip(self.ended).all(|invariant| invariant.prepare(view, next, steps, findings))
    }

    /// Takes the findings. Nothing is found afterwards.
    pub(super) fn take_findings(&mut self) -> Findings {
        let wanted = self.findings.wanted();
        std::mem::replace(&mut self.findings, Findings::new(wanted))
    }
}
