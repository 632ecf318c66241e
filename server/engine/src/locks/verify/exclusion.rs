//! `mutual-exclusion`: no two owners hold an exclusive lock at once, nor are in one declared section.

use super::super::history::{Entry, Event, Mode};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::View;

pub(super) const NAME: &str = "mutual-exclusion";

#[derive(Debug)]
pub(super) struct Exclusion;

/// Whether two modes of one layout exclude each other. A read-write lock in the key of a plain one is `layout-mix`.
fn excludes(one: Mode, other: Mode) -> bool {
    matches!(
        (one, other),
        (Mode::Exclusive, Mode::Exclusive)
            | (Mode::Write, Mode::Write | Mode::Shared)
            | (Mode::Shared, Mode::Write)
    )
}

impl Invariant for Exclusion {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        let key = entry.key;
        let mut found = |since: u64, other, text: String| {
            let (seqs, owners) = (vec![since, seq], vec![other, entry.owner]);
            findings.push(Finding { level: Level::Violation, invariant: NAME, key, seqs, owners, text });
        };
        let (owner, lock) = (words(view.ring, entry.owner), words(view.ring, key));
        match entry.event {
            Event::Acquired | Event::Converted => {
                let holds = view.lock(key).into_iter().flat_map(|lock| &lock.holds);
                let others = holds.filter(|(other, _)| !view.is_same_owner(**other, entry.owner));
                for (&other, hold) in others.filter(|(_, hold)| excludes(entry.mode, hold.mode)) {
                    let holder = words(view.ring, other);
                    found(hold.seq, other, format!("{owner} took {lock} while {holder} held it"));
                }
            }
            Event::Entered => {
                let open = view.locks.sections.get(&key).into_iter().flatten();
                for &(other, since) in open.filter(|(other, _)| *other != entry.owner) {
                    let inside = words(view.ring, other);
                    found(
                        since,
                        other,
                        format!("{owner} entered the section {lock} while {inside} was in it"),
                    );
                }
            }
            _ => {}
        }
    }
}
