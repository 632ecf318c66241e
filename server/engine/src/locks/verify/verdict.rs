//! The way through the history, and what comes of it.

use super::super::history::Ring;
use super::super::ledger::VerifyLimits;
use super::finding::{Finding, Level};
use super::invariant::Invariant;
use super::locks::{Locks, View};
use super::{
    deadlocks::Deadlocks, eternal_locks::EternalLocks, exclusion::Exclusion, fair_order::FairOrder,
    fences::Fences, given_permits::GivenPermits, habits::Habits, herds::Herds, late_owners::LateOwners,
    layout_mix::LayoutMix, missed_wakeups::MissedWakeups, permits::Permits, releases::Releases,
    tokens::Tokens, unanswered::UnansweredAcquires, watchdogs::Watchdogs,
};
use crate::time::Now;

/// What the history says of the invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They held.
    Ok,
    /// One of them may not have held.
    Suspect,
    /// One of them did not.
    Violated,
    /// There is not enough of a history.
    Inconclusive,
}

impl Verdict {
    /// As the reply spells it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Suspect => "suspect",
            Verdict::Violated => "violated",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// The verdict on these findings. Lints alone leave it `ok`: they are advice.
    pub(super) fn of(findings: &[Finding], is_truncated: bool) -> Self {
        match findings.iter().map(|finding| finding.level).max() {
            Some(Level::Violation) => Verdict::Violated,
            Some(Level::Suspect) => Verdict::Suspect,
            Some(Level::Lint) | None if is_truncated => Verdict::Inconclusive,
            Some(Level::Lint) | None => Verdict::Ok,
        }
    }
}

/// The reply's `reason` while there is no history.
pub(super) const HISTORY_IS_OFF: &str = "the history is off: CONFIG SET lock-history yes turns it on";

/// The reason why a history is not whole, if it is not.
pub(super) fn reason(ring: &Ring) -> Option<&'static str> {
    if ring.has_gaps() {
        Some(
            "the history is off at another server of this process: CONFIG SET lock-history yes turns it on there",
        )
    } else if ring.is_truncated() {
        Some("the oldest entries of the history have gone: lock-history-max sets how many it keeps")
    } else {
        None
    }
}

/// Everything that the invariants find in a history, in the order of its last entries. O(n log n), n the entries, but
/// for locks that many hold or wait for at once.
pub(super) fn findings(ring: &Ring, now: Now, limits: VerifyLimits) -> Vec<Finding> {
    let mut invariants: Vec<Box<dyn Invariant>> = vec![
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
    let (mut locks, mut findings) = (Locks::default(), Vec::new());
    for (seq, entry) in ring.after(0) {
        for invariant in &mut invariants {
            invariant.see(View { ring, locks: &locks }, seq, entry, &mut findings);
        }
        locks.take_in(ring, seq, entry);
    }
    for invariant in &mut invariants {
        invariant.end(View { ring, locks: &locks }, now, &mut findings);
    }
    findings.sort_by_key(|finding| finding.seqs.last().copied());
    findings
}
