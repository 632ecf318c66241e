//! `release-by-holder`: a client that does not hold a lock does not delete or overwrite it with a bare command. The
//! holder's own bare command is a habit.
//!
//! A process has several connections, so a command on another connection than the acquisition proves nothing. It is
//! another process's if the clients' names differ, or if the connection's own hold of this lock was taken from it.

use super::super::history::{Cause, Entry, Event, Name};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::holds::Hold;
use super::invariant::Invariant;
use super::locks::View;
use lockwheel_store::memory::set_heap_bytes;
use std::collections::BTreeSet;

/// The connections whose own hold of a lock was taken from them, until they take the lock again.
#[derive(Debug, Default)]
pub(super) struct Releases {
    late: BTreeSet<(Name, u64)>,
}

impl Releases {
    /// Whether a command was not sent by the holder, on any of its connections.
    fn is_anothers(&self, hold: &Hold, entry: &Entry) -> bool {
        let is_late = self.late.contains(&(entry.key, entry.client)) && hold.client != entry.client;
        // A connection without a name may be the holder's own, from a pool.
        is_late || (entry.client_name != Name::NONE && hold.client_name != entry.client_name)
    }

    /// Tracks the connections that lose their hold, or take the lock again.
    fn follow(&mut self, view: View<'_>, entry: &Entry) {
        if entry.event == Event::Acquired {
            self.late.remove(&(entry.key, entry.client));
        }
        let is_taken = matches!(entry.cause, Cause::Expired | Cause::Forced | Cause::FailedOver);
        let hold = view.lock(entry.key).and_then(|lock| lock.holds.get(entry.owner));
        if let (Event::Lost, true, Some(hold)) = (entry.event, is_taken, hold) {
            self.late.insert((entry.key, hold.client));
        }
    }
}

impl Invariant for Releases {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        self.follow(view, entry);
        let verb = match (entry.event, entry.cause) {
            (Event::Lost, Cause::Deleted) => "deleted",
            (Event::Lost, Cause::Overwritten) => "overwrote",
            (Event::Lost, Cause::Swapped) => "took away",
            _ => return,
        };
        let hold = view.lock(entry.key).and_then(|lock| lock.holds.get(entry.owner));
        let (Some(hold), false) = (hold, entry.client == 0) else { return };
        let [lock, owner, by] = [entry.key, entry.owner, entry.by].map(|name| words(view.ring, name));
        let client = entry.client;
        let (level, invariant, text) = if self.is_anothers(hold, entry) {
            let text = format!("client {client} {verb} {lock} by a bare {by} while {owner} held it");
            (Severity::Violation, "release-by-holder", text)
        } else if hold.client == client {
            let text =
                format!("{owner} {verb} {lock} by a bare {by}, without checking that it still held the lock");
            (Severity::Lint, "bare-habits", text)
        } else {
            let text = format!(
                "client {client} {verb} {lock} by a bare {by} while {owner} held it, by another connection: right \
                 only if both are one process's"
            );
            (Severity::Lint, "bare-habits", text)
        };
        let (seqs, owners) = (vec![hold.seq, seq], vec![entry.owner]);
        findings.push(view.ring, Finding { level, invariant, key: entry.key, seqs, owners, text });
    }

    fn memory(&self) -> usize {
        set_heap_bytes(&self.late)
    }
}
