//! `write-after-fence`: a resource accepts no write with a token below the highest token that it has seen.

use super::super::history::{Entry, Event, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::map_heap_bytes;
use std::collections::BTreeMap;

/// The highest token of each resource, and the entry that recorded it.
#[derive(Debug, Default)]
pub(super) struct Fences {
    highest: BTreeMap<Name, (u64, u64)>,
}

impl Invariant for Fences {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        if entry.event != Event::Fenced {
            return;
        }
        let highest = self.highest.entry(entry.key).or_insert((entry.grant, seq));
        if entry.grant < highest.0 {
            let (resource, token) = (words(view.ring, entry.key), entry.grant);
            findings.push(
                view.ring,
                Finding {
                    level: Severity::Violation,
                    invariant: "write-after-fence",
                    key: entry.key,
                    seqs: vec![highest.1, seq],
                    owners: Vec::new(),
                    text: format!("{resource} accepted a write with token {token} after {}", highest.0),
                },
            );
        } else {
            *highest = (entry.grant, seq);
        }
    }

    fn memory(&self) -> usize {
        map_heap_bytes(&self.highest)
    }
}
