//! `token-order`: each grant has a higher number than all before it.

use super::super::history::{Cause, Entry, Event};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::View;

/// The last grant, and its entry.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    last: Option<(u64, u64)>,
}

impl Invariant for Tokens {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        // What has come with its database has the number that it had.
        if entry.event != Event::Acquired || entry.cause == Cause::Swapped {
            return;
        }
        if let Some((last, before)) = self.last
            && entry.grant <= last
        {
            let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
            findings.push(Finding {
                level: Level::Violation,
                invariant: "token-order",
                key: entry.key,
                seqs: vec![before, seq],
                owners: vec![entry.owner],
                text: format!("{owner} was granted {lock} by number {} after number {last}", entry.grant),
            });
        }
        self.last = Some((entry.grant, seq));
    }
}
