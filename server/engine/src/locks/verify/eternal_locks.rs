//! `no-eternal-lock`: every hold has a lease, which no backward step of the clock makes twice as long, or ends with a
//! connection.

use super::super::history::{Entry, Event};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::View;

const NAME: &str = "no-eternal-lock";

#[derive(Debug)]
pub(super) struct EternalLocks;

impl Invariant for EternalLocks {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        match entry.event {
            Event::Acquired | Event::Renewed if entry.ttl().is_none() && !entry.is_of_session() => {
                let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
                findings.push(Finding {
                    level: Level::Violation,
                    invariant: NAME,
                    key: entry.key,
                    seqs: vec![seq],
                    owners: vec![entry.owner],
                    text: format!("{owner} holds {lock} without a lease: for ever, if it dies"),
                });
            }
            Event::Clock if entry.holds < entry.ttl_ms => stepped_back(view, seq, entry, findings),
            _ => {}
        }
    }
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
