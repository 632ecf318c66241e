//! `no-eternal-lock`: every hold has a lease, which no backward step of the clock makes twice as long, or ends with a
//! connection.
//!
//! A lease that a later request sets is a habit, which another finding names.

use super::super::history::{Cause, Entry, Event, Name};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::View;
use crate::time::Now;
use std::collections::BTreeMap;

const NAME: &str = "no-eternal-lock";

/// The findings on holds that began without a lease and may get one, by key and owner.
#[derive(Debug, Default)]
pub(super) struct EternalLocks {
    open: BTreeMap<(Name, Name), Finding>,
}

impl Invariant for EternalLocks {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        let hold = (entry.key, entry.owner);
        match (entry.event, entry.cause) {
            (Event::Acquired, _) if is_eternal(entry) => {
                findings.extend(self.open.insert(hold, without_lease(view, seq, entry)));
            }
            (Event::Renewed, _) if is_eternal(entry) && !self.open.contains_key(&hold) => {
                findings.push(without_lease(view, seq, entry));
            }
            (Event::Habit, Cause::NoLease) => {
                findings.extend(self.open.insert(hold, of_text(view, seq, entry)));
            }
            (Event::Habit, Cause::LateLease) => {
                self.open.remove(&hold);
            }
            (Event::Released | Event::Lost | Event::Transferred, _) if entry.holds == 0 => {
                findings.extend(self.open.remove(&hold));
            }
            (Event::Clock, _) if entry.holds < entry.ttl_ms => stepped_back(view, seq, entry, findings),
            _ => {}
        }
    }

    fn end(&mut self, _: View<'_>, _: Now, findings: &mut Vec<Finding>) {
        findings.extend(std::mem::take(&mut self.open).into_values());
    }
}

/// Whether a hold has no end by itself from this entry on.
fn is_eternal(entry: &Entry) -> bool {
    entry.ttl().is_none() && !entry.is_of_session()
}

fn without_lease(view: View<'_>, seq: u64, entry: &Entry) -> Finding {
    let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
    let text = format!("{owner} holds {lock} without a lease: for ever, if it dies");
    finding(Level::Violation, seq, entry, text)
}

/// A text that was set by NX without a lease and is used as a lock: certainly, if LOCK commands ask for it.
fn of_text(view: View<'_>, seq: u64, entry: &Entry) -> Finding {
    if entry.native() == Some(true) {
        return without_lease(view, seq, entry);
    }
    let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
    let text = format!(
        "{lock} was set to {owner} by NX without a lease: if it is a lock, it is held for ever once its owner dies"
    );
    finding(Level::Suspect, seq, entry, text)
}

fn finding(level: Level, seq: u64, entry: &Entry, text: String) -> Finding {
    Finding { level, invariant: NAME, key: entry.key, seqs: vec![seq], owners: vec![entry.owner], text }
}

/// The wall clock was set back: leases are dates on it.
fn stepped_back(view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
    let (from_ms, to_ms) = (entry.ttl_ms, entry.holds);
    for (&key, lock) in &view.locks.by_key {
        for (&owner, hold) in &lock.holds {
            let (Some(ttl_ms), Some(deadline_ms)) = (hold.ttl_ms, hold.deadline_ms) else { continue };
            let left_ms = deadline_ms.saturating_sub(to_ms);
            if hold.session || left_ms < ttl_ms.saturating_mul(2) {
                continue;
            }
            let ([name, who], by_ms) =
                ([key, owner].map(|name| words(view.ring, name)), from_ms.saturating_sub(to_ms));
            findings.push(Finding {
                level: Level::Violation,
                invariant: NAME,
                key,
                seqs: vec![hold.seq, seq],
                owners: vec![owner],
                text: format!(
                    "{who} holds {name} for {left_ms} ms instead of {ttl_ms}: the clock went back by {by_ms} ms"
                ),
            });
        }
    }
}
