//! `layout-mix`: a read-write lock and a plain lock are not held in one key, though Redisson's layout allows it.

use super::super::history::{Entry, Event, Mode, Name};
use super::exclusion::is_plain;
use super::finding::{Finding, Severity, words};
use super::findings::{Findings, MAX_OF_ENTRY};
use super::holds::Hold;
use super::invariant::Invariant;
use super::locks::View;

#[derive(Debug)]
pub(super) struct LayoutMix;

impl Invariant for LayoutMix {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        if entry.event != Event::Acquired {
            return;
        }
        let Some(lock) = view.lock(entry.key) else { return };
        // Two servers that granted one lock have a key each: `mutual-exclusion` covers that case.
        let here = view.ring.place_number(seq);
        let is_mixed = |mode: Mode, place: usize| is_plain(mode) != is_plain(entry.mode) && place == here;
        let mut others: Vec<(Name, &Hold)> = lock.holds.of_modes(is_mixed, None).take(MAX_OF_ENTRY).collect();
        let more = lock.holds.count_of_modes(is_mixed, None) - others.len();
        findings.leave_out(view.ring, Severity::Lint, entry.key, more);
        others.sort_unstable_by_key(|(other, _)| *other);
        for (other, hold) in others {
            let [lock, owner, holder] = [entry.key, entry.owner, other].map(|name| words(view.ring, name));
            let [new, old] = [entry.mode, hold.mode].map(|mode| match is_plain(mode) {
                true => "a plain lock",
                false => "a read-write lock",
            });
            findings.push(
                view.ring,
                Finding {
                    level: Severity::Lint,
                    invariant: "layout-mix",
                    key: entry.key,
                    seqs: vec![hold.seq, seq],
                    owners: vec![other, entry.owner],
                    text: format!("{owner} took {lock} as {new} while {holder} held it as {old}"),
                },
            );
        }
    }
}
