//! `token-order`: each grant has a higher number than all earlier grants of its server and of its lock.

use super::super::history::{Cause, Entry, Event, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::map_heap_bytes;
use std::collections::BTreeMap;

/// A grant: its number, its entry, its owner, and the place of its server.
#[derive(Clone, Copy, Debug)]
struct Last {
    grant: u64,
    seq: u64,
    owner: Name,
    place: usize,
}

/// The last grant of each server, which counts on its own, and of each lock, which may move between servers.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    of_server: BTreeMap<usize, Last>,
    of_lock: BTreeMap<Name, Last>,
}

impl Tokens {
    /// Returns an earlier grant whose number is not below that of the new one.
    fn not_below(&self, view: View<'_>, key: Name, next: Last) -> Option<Last> {
        let of_server = self.of_server.get(&next.place);
        // One owner may take locks of one name on several servers that do not know each other.
        let elsewhere = self
            .of_lock
            .get(&key)
            .filter(|last| last.place != next.place && !view.is_same_owner(last.owner, next.owner));
        of_server.into_iter().chain(elsewhere).find(|last| next.grant <= last.grant).copied()
    }
}

impl Invariant for Tokens {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        // A hold that moved, with its database or alone, keeps its number.
        let has_come = matches!(entry.cause, Cause::Swapped | Cause::Migrated);
        if entry.event != Event::Acquired || has_come {
            return;
        }
        let next = Last { grant: entry.grant, seq, owner: entry.owner, place: view.ring.place_number(seq) };
        if let Some(before) = self.not_below(view, entry.key, next) {
            let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
            let (number, last) = (entry.grant, before.grant);
            findings.push(
                view.ring,
                Finding {
                    level: Severity::Violation,
                    invariant: "token-order",
                    key: entry.key,
                    seqs: vec![before.seq, seq],
                    owners: vec![entry.owner],
                    text: format!("{owner} was granted {lock} by number {number} after number {last}"),
                },
            );
        }
        self.of_server.insert(next.place, next);
        self.of_lock.insert(entry.key, next);
    }

    fn memory(&self) -> usize {
        map_heap_bytes(&self.of_server) + map_heap_bytes(&self.of_lock)
    }
}
