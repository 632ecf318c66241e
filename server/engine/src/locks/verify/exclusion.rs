//! `mutual-exclusion`: no two owners hold an exclusive lock at once, nor are in one declared section.

use super::super::history::{Entry, Event, Mode, Ring};
use super::finding::{Finding, Level, words};
use super::invariant::Invariant;
use super::locks::{Hold, View};

pub(super) const NAME: &str = "mutual-exclusion";

#[derive(Debug)]
pub(super) struct Exclusion;

/// Whether it is the mode of a lock that is no read-write lock.
pub(super) fn is_plain(mode: Mode) -> bool {
    mode == Mode::Exclusive
}

/// Whether two modes of one layout exclude each other. A read-write lock in the key of a plain one is `layout-mix`, as
/// long as it is one key: two servers have two.
fn excludes(one: Mode, other: Mode, is_one_key: bool) -> bool {
    if !is_one_key && is_plain(one) != is_plain(other) {
        return true;
    }
    matches!(
        (one, other),
        (Mode::Exclusive, Mode::Exclusive)
            | (Mode::Write, Mode::Write | Mode::Shared)
            | (Mode::Shared, Mode::Write)
    )
}

/// Where an entry is from, if there are several servers.
pub(super) fn at_node(ring: &Ring, seq: u64) -> String {
    let node = ring.place(seq).map(|node| format!(" on {}", String::from_utf8_lossy(node)));
    node.unwrap_or_default()
}

impl Invariant for Exclusion {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Vec<Finding>) {
        let key = entry.key;
        let mut found = |since: u64, other, text: String| {
            let (seqs, owners) = (vec![since, seq], vec![other, entry.owner]);
            findings.push(Finding { level: Level::Violation, invariant: NAME, key, seqs, owners, text });
        };
        let (owner, lock) = (words(view.ring, entry.owner), words(view.ring, key));
        let wall_ms = view.ring.when(seq, entry).wall_ms;
        match entry.event {
            Event::Acquired | Event::Converted => {
                let holds = view.lock(key).into_iter().flat_map(|lock| &lock.holds);
                let others = holds.filter(|(other, _)| !view.is_same_owner(**other, entry.owner));
                let is_in_the_way = |hold: &Hold| {
                    excludes(entry.mode, hold.mode, view.ring.place(seq) == view.ring.place(hold.seq))
                };
                for (&other, hold) in others.filter(|(_, hold)| is_in_the_way(hold)) {
                    // A lease that a server was killed with, or that it lost, ends nowhere.
                    let is_over = hold.deadline_ms.is_some_and(|deadline_ms| deadline_ms <= wall_ms);
                    if view.ring.is_of_several() && is_over {
                        continue;
                    }
                    let holder = words(view.ring, other);
                    let (here, there) = (at_node(view.ring, seq), at_node(view.ring, hold.seq));
                    found(
                        hold.seq,
                        other,
                        format!("{owner} took {lock}{here} while {holder} held it{there}"),
                    );
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
