//! `mutual-exclusion`: two owners never hold an exclusive lock, or are in one declared section, at the same time.

use super::super::history::{Entry, Event, Mode, Name, Ring};
use super::finding::{Finding, Severity, words};
use super::findings::{Findings, MAX_OF_ENTRY};
use super::holds::Hold;
use super::invariant::Invariant;
use super::locks::View;

pub(super) const NAME: &str = "mutual-exclusion";

#[derive(Debug)]
pub(super) struct Exclusion;

/// Whether the mode belongs to a lock that is not a read-write lock.
pub(super) fn is_plain(mode: Mode) -> bool {
    mode == Mode::Exclusive
}

/// Whether two modes of one lock exclude each other. A plain and a read-write mode in one key of one server are
/// `layout-mix` instead. On two servers they are two keys, and exclude each other.
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

/// Returns the text that names the server of an entry. It is empty unless the history is of several servers.
pub(super) fn at_node(ring: &Ring, seq: u64) -> String {
    let node = ring.place(seq).map(|node| format!(" on {}", String::from_utf8_lossy(node)));
    node.unwrap_or_default()
}

impl Invariant for Exclusion {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        match entry.event {
            Event::Acquired | Event::Converted => taken(view, seq, entry, findings),
            Event::Entered => entered(view, seq, entry, findings),
            _ => {}
        }
    }
}

/// Reports the other holders that exclude an owner's new hold.
fn taken(view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
    let Some(lock) = view.lock(entry.key) else { return };
    let here = view.ring.place_number(seq);
    let is_in_the_way = |mode: Mode, place: usize| excludes(entry.mode, mode, place == here);
    // The history has no end of a lease if its server was killed or lost the lease.
    let over_ms = view.ring.is_of_several().then(|| view.ring.when(seq, entry).wall_ms);
    let others = lock.holds.of_modes(is_in_the_way, over_ms);
    let others = others.filter(|(other, _)| !view.is_same_owner(*other, entry.owner));
    let mut others: Vec<(Name, &Hold)> = others.take(MAX_OF_ENTRY).collect();
    if others.len() == MAX_OF_ENTRY {
        let own = view.locks.owners.fields_of(entry.owner).filter_map(|field| lock.holds.get(field));
        let own = own.filter(|hold| is_in_the_way(hold.mode, hold.granted_at)).count();
        let all = lock.holds.count_of_modes(is_in_the_way, over_ms);
        let more = all.saturating_sub(own + MAX_OF_ENTRY);
        findings.leave_out(view.ring, Severity::Violation, entry.key, more);
    }
    others.sort_unstable_by_key(|(other, _)| *other);
    for (other, hold) in others {
        let [owner, lock, holder] = [entry.owner, entry.key, other].map(|name| words(view.ring, name));
        let [here, there] = [seq, hold.seq].map(|seq| at_node(view.ring, seq));
        let text = format!("{owner} took {lock}{here} while {holder} held it{there}");
        found(view, (hold.seq, other), (seq, entry), text, findings);
    }
}

/// Reports the other owners in a declared section that an owner has entered.
fn entered(view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
    let Some(open) = view.locks.sections.get(&entry.key) else { return };
    let mut others: Vec<(Name, u64)> = open.of_others(entry.owner).take(MAX_OF_ENTRY).collect();
    let more = open.count_of_others(entry.owner).saturating_sub(MAX_OF_ENTRY);
    findings.leave_out(view.ring, Severity::Violation, entry.key, more);
    others.sort_unstable_by_key(|(_, since)| *since);
    for (other, since) in others {
        let [owner, section, inside] = [entry.owner, entry.key, other].map(|name| words(view.ring, name));
        let text = format!("{owner} entered the section {section} while {inside} was in it");
        found(view, (since, other), (seq, entry), text, findings);
    }
}

fn found(
    view: View<'_>,
    (since, other): (u64, Name),
    (seq, entry): (u64, &Entry),
    text: String,
    findings: &mut Findings,
) {
    let (key, seqs, owners) = (entry.key, vec![since, seq], vec![other, entry.owner]);
    findings
        .push(view.ring, Finding { level: Severity::Violation, invariant: NAME, key, seqs, owners, text });
}
