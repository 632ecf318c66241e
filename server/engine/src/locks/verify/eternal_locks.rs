//! `no-eternal-lock`: every hold has a lease or ends with a connection. No backward step of the wall clock doubles the
//! length of a lease.
//!
//! If a later request sets the lease, the finding becomes a habit instead. For a string key, the history has an entry
//! of that habit. For a field of a hash, this module detects it.

use super::super::history::{Cause, Entry, Event, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::habits::late_lease;
use super::holds::Hold;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::{block, map_heap_bytes, set_heap_bytes};
use lockwheel_store::time::Now;
use std::collections::{BTreeMap, BTreeSet};

const NAME: &str = "no-eternal-lock";

/// The approximate size in bytes of a finding's text.
const OPEN_TEXT_BYTES: usize = 96;

/// The findings on holds that began without a lease and may get one, by key and owner.
#[derive(Debug, Default)]
pub(super) struct EternalLocks {
    open: BTreeMap<(Name, Name), Finding>,
    /// The entry whose lease is examined at the next entry. Until then the locks have not taken it in.
    last: Option<u64>,
    /// Leases, by the wall time in milliseconds to which the clock must be set back to double the lease, with their
    /// locks and owners. Some leases have ended. Each lease is reported once.
    leases: BTreeSet<(i64, Name, Name)>,
}

/// Returns the wall time in milliseconds to which the clock must be set back to double a lease.
fn doubled_at_ms(hold: &Hold) -> Option<i64> {
    let (ttl_ms, deadline_ms) = (hold.ttl_ms?, hold.deadline_ms?);
    (!hold.session).then(|| deadline_ms.saturating_sub(ttl_ms.saturating_mul(2)))
}

impl Invariant for EternalLocks {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        if let Some(last) = self.last.replace(seq) {
            self.note(view, last);
        }
        let hold = (entry.key, entry.owner);
        match (entry.event, entry.cause) {
            (Event::Acquired, _) if is_eternal(entry) => {
                let before = self.open.insert(hold, without_lease(view, seq, entry));
                before.into_iter().for_each(|before| findings.push(view.ring, before));
            }
            (Event::Renewed, _) if is_eternal(entry) && !self.open.contains_key(&hold) => {
                findings.push(view.ring, without_lease(view, seq, entry));
            }
            (Event::Habit, Cause::NoLease) => {
                let before = self.open.insert(hold, of_text(view, seq, entry));
                before.into_iter().for_each(|before| findings.push(view.ring, before));
            }
            (Event::Habit, Cause::LateLease) => {
                self.open.remove(&hold);
            }
            // The later lease of a string key was recorded as a habit before. That of a hash field is detected here.
            (Event::Renewed | Event::Reentered, _) if !is_eternal(entry) => {
                if let Some(before) = self.open.remove(&hold) {
                    let seqs = before.seqs.into_iter().chain([seq]).collect();
                    findings.push(view.ring, late_lease(view, seqs, entry, "a script does both at once"));
                }
            }
            (Event::Released | Event::Lost | Event::Transferred, _) if entry.holds == 0 => {
                let over = self.open.remove(&hold);
                over.into_iter().for_each(|over| findings.push(view.ring, over));
            }
            (Event::Clock, _) if entry.holds < entry.ttl_ms => self.stepped_back(view, seq, entry, findings),
            _ => {}
        }
    }

    fn end(&mut self, view: View<'_>, _: Now, findings: &mut Findings) {
        let open = std::mem::take(&mut self.open).into_values();
        open.for_each(|finding| findings.push(view.ring, finding));
    }

    fn memory(&self) -> usize {
        let open = self.open.len() * (block(OPEN_TEXT_BYTES) + 2 * block(4 * size_of::<u64>()));
        map_heap_bytes(&self.open) + open + set_heap_bytes(&self.leases)
    }
}

/// Whether a hold never ends by itself from this entry on.
fn is_eternal(entry: &Entry) -> bool {
    entry.ttl().is_none() && !entry.is_of_session()
}

fn without_lease(view: View<'_>, seq: u64, entry: &Entry) -> Finding {
    let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
    let text = format!("{owner} holds {lock} without a lease: if the owner dies, the lock stays taken");
    finding(Severity::Violation, seq, entry, text)
}

/// Returns the finding for a string key set with NX and without a lease: a lock if LOCK commands use it, or a suspect.
fn of_text(view: View<'_>, seq: u64, entry: &Entry) -> Finding {
    if entry.native() == Some(true) {
        return without_lease(view, seq, entry);
    }
    let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
    let text = format!(
        "{lock} was set to {owner} by NX without a lease: if the key is a lock, it stays taken after its owner dies"
    );
    finding(Severity::Suspect, seq, entry, text)
}

fn finding(level: Severity, seq: u64, entry: &Entry, text: String) -> Finding {
    Finding { level, invariant: NAME, key: entry.key, seqs: vec![seq], owners: vec![entry.owner], text }
}

impl EternalLocks {
    /// Records the lease of an entry that the locks have taken in.
    fn note(&mut self, view: View<'_>, seq: u64) {
        let Some(entry) = view.ring.get(seq) else { return };
        let hold = view.lock(entry.key).and_then(|lock| lock.holds.get(entry.owner));
        if let Some(at_ms) = hold.and_then(doubled_at_ms) {
            self.leases.insert((at_ms, entry.key, entry.owner));
        }
    }

    /// Reports leases that a backward step of the wall clock has doubled. Their deadlines are wall times.
    fn stepped_back(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        let (from_ms, to_ms) = (entry.ttl_ms, entry.holds);
        let mut doubled = Vec::new();
        while let Some((at_ms, key, owner)) = self.leases.pop_last() {
            if at_ms < to_ms {
                self.leases.insert((at_ms, key, owner));
                break;
            }
            doubled.push((key, owner, at_ms));
        }
        doubled.sort_unstable();
        for (key, owner, at_ms) in doubled {
            let hold = view.lock(key).and_then(|lock| lock.holds.get(owner));
            let Some(hold) = hold.filter(|hold| doubled_at_ms(hold) == Some(at_ms)) else { continue };
            let (ttl_ms, deadline_ms) = (hold.ttl_ms.unwrap_or(0), hold.deadline_ms.unwrap_or(0));
            let (left_ms, by_ms) = (deadline_ms.saturating_sub(to_ms), from_ms.saturating_sub(to_ms));
            let [name, who] = [key, owner].map(|name| words(view.ring, name));
            let text = format!(
                "{who} holds {name} for {left_ms} ms instead of {ttl_ms}: the clock went back by {by_ms} ms"
            );
            let (seqs, owners) = (vec![hold.seq, seq], vec![owner]);
            let finding = Finding { level: Severity::Violation, invariant: NAME, key, seqs, owners, text };
            findings.push(view.ring, finding);
        }
    }
}
