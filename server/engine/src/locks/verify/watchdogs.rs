//! `watchdog-leak`: the watchdog of a lock stops renewing it once the lock is released.

use super::super::history::{Entry, Event, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::{map_heap_bytes, vec_heap_bytes};
use std::collections::BTreeMap;

/// Renewals after the release of a lock, by lock and owner: the entry of the release, and the entries of the renewals.
#[derive(Debug, Default)]
pub(super) struct Watchdogs {
    renewals: BTreeMap<(Name, Name), (u64, Vec<u64>)>,
    entry_bytes: usize,
}

impl Invariant for Watchdogs {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        if entry.event != Event::RenewalRefused {
            return;
        }
        let Some(lock) = view.lock(entry.key) else { return };
        let Some((released, Event::Released)) = lock.end_of(&view.locks.owners, entry.owner) else { return };
        let (since, seqs) = self.renewals.entry((entry.key, entry.owner)).or_default();
        let before = vec_heap_bytes(seqs);
        if *since != released {
            (*since, *seqs) = (released, Vec::new());
        }
        seqs.push(seq);
        self.entry_bytes = self.entry_bytes + vec_heap_bytes(seqs) - before;
        // One renewal may have been in flight at the release.
        if seqs.len() == 2 {
            let [name, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
            findings.push(
                view.ring,
                Finding {
                    level: Severity::Suspect,
                    invariant: "watchdog-leak",
                    key: entry.key,
                    seqs: std::iter::once(released).chain(seqs.iter().copied()).collect(),
                    owners: vec![entry.owner],
                    text: format!("{owner} still renews {name}, which it has released"),
                },
            );
        }
    }

    fn memory(&self) -> usize {
        map_heap_bytes(&self.renewals) + self.entry_bytes
    }
}
