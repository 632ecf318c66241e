//! `layout-mix`: a read-write lock does not enter the key of a plain lock, though Redisson's layout allows it.

use super::super::history::{Entry, Event, Mode};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::View;

#[derive(Debug)]
pub(super) struct LayoutMix;

impl Invariant for LayoutMix {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        if entry.event != Event::Acquired {
            return;
        }
        let is_plain = |mode| mode == Mode::Exclusive;
        let holds = view.lock(entry.key).into_iter().flat_map(|lock| &lock.holds);
        for (&other, hold) in holds.filter(|(_, hold)| is_plain(hold.mode) != is_plain(entry.mode)) {
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
