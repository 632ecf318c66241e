//! `layout-mix`: a read-write lock does not enter the key of a plain lock, though Redisson's layout allows it.

use super::super::history::{Entry, Event};
use super::exclusion::is_plain;
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::{Hold, View};

#[derive(Debug)]
pub(super) struct LayoutMix;

impl Invariant for LayoutMix {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        if entry.event != Event::Acquired {
            return;
        }
        // Two servers that have granted one lock have a key each: `mutual-exclusion` is for that.
        let is_one_key = |hold: &Hold| view.ring.place(hold.seq) == view.ring.place(seq);
        let holds = view.lock(entry.key).into_iter().flat_map(|lock| &lock.holds);
        let is_mixed = |hold: &Hold| is_plain(hold.mode) != is_plain(entry.mode) && is_one_key(hold);
        for (&other, hold) in holds.filter(|(_, hold)| is_mixed(hold)) {
            let [lock, owner, holder] = [entry.key, entry.owner, other].map(|name| words(view.ring, name));
            let [new, old] = [entry.mode, hold.mode].map(|mode| match is_plain(mode) {
                true => "a plain lock",
                false => "a read-write lock",
            });
            findings.push(Finding {
                level: Level::Lint,
                invariant: "layout-mix",
                key: entry.key,
                seqs: vec![hold.seq, seq],
                owners: vec![other, entry.owner],
                text: format!("{owner} took {lock} as {new} while {holder} held it as {old}"),
            });
        }
    }
}
