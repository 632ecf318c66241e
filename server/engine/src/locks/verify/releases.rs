//! `release-by-holder`: a lock is not deleted or overwritten by a bare command of somebody who does not hold it. The
//! holder's own bare command is a habit.

use super::super::history::{Cause, Entry, Event};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::View;

#[derive(Debug)]
pub(super) struct Releases;

impl Invariant for Releases {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        let verb = match (entry.event, entry.cause) {
            (Event::Lost, Cause::Deleted) => "deleted",
            (Event::Lost, Cause::Overwritten) => "overwrote",
            _ => return,
        };
        let hold = view.lock(entry.key).and_then(|lock| lock.holds.get(&entry.owner));
        let (Some(hold), false) = (hold, entry.client == 0) else { return };
        let [lock, owner, by] = [entry.key, entry.owner, entry.by].map(|name| words(view.ring, name));
        let (level, invariant, text) = if hold.client == entry.client {
            let text =
                format!("{owner} {verb} {lock} by a bare {by}, without looking whether it still had it");
            (Level::Lint, "bare-habits", text)
        } else {
            let client = entry.client;
            let text = format!("client {client} {verb} {lock} by a bare {by} while {owner} held it");
            (Level::Violation, "release-by-holder", text)
        };
        let (seqs, owners) = (vec![hold.seq, seq], vec![entry.owner]);
        findings.push(Finding { level, invariant, key: entry.key, seqs, owners, text });
    }
}
