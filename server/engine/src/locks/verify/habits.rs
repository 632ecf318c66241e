//! `bare-habits`: practices that may cause a failure later. A lease is set after the lock was taken, a SET without NX
//! is meant to take a lock, or KEYS lists locks.

use super::super::history::{Cause, Entry, Event, Name, OVERWRITES};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::listings::Listings;
use super::locks::View;
use lockwheel_store::memory::{set_heap_bytes, vec_heap_bytes};
use std::collections::BTreeSet;

/// The calls of KEYS, and the habits that have been reported.
#[derive(Debug, Default)]
pub(super) struct Habits {
    /// The entries of KEYS with their patterns.
    listed: Vec<(u64, Name)>,
    /// The comparison of the patterns with the locks, once it has begun.
    listings: Option<Listings>,
    /// The locks taken by a SET without NX, and whether it overwrote another's value. Each pair is reported once.
    plain: BTreeSet<(Name, bool)>,
}

/// Returns a finding on a habit of an owner, shown by these entries.
fn habit(of: (Name, Name), seqs: Vec<u64>, text: String) -> Finding {
    Finding::new(Severity::Lint, "bare-habits", of, seqs, text)
}

/// Returns the finding on a lock that was taken without a lease. A later request set the lease, as `entry` records.
pub(super) fn late_lease(view: View<'_>, seqs: Vec<u64>, entry: &Entry, advice: &str) -> Finding {
    let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
    let text = format!("{owner} took {lock} without a lease and set the lease later: {advice}");
    habit((entry.key, entry.owner), seqs, text)
}

/// Whether a SET without NX replaced another owner's value.
fn overwrites(view: View<'_>, entry: &Entry) -> bool {
    view.ring.text(entry.text) == OVERWRITES
}

/// Returns the description of a SET without NX on a lock.
fn plain_set(view: View<'_>, entry: &Entry) -> String {
    let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
    let to_owner = if owner.is_empty() { owner } else { format!(" to {owner}") };
    let lost = if overwrites(view, entry) { ", whose last owner has lost it by that" } else { "" };
    format!(
        "{lock} was set{to_owner} by a SET without NX, which excludes nobody, and is given back by a comparison, as a \
         lock is{lost}: perhaps its options were passed in another client's style"
    )
}

impl Invariant for Habits {
    fn prepare(
        &mut self,
        view: View<'_>,
        next: Option<(u64, &Entry)>,
        steps: &mut u64,
        findings: &mut Findings,
    ) -> bool {
        if next.is_some() {
            return true;
        }
        let listed = &mut self.listed;
        let listings = self.listings.get_or_insert_with(|| Listings::new(view, std::mem::take(listed)));
        listings.go_on(view, steps, findings)
    }

    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        match (entry.event, entry.cause) {
            (Event::Habit, Cause::Keys) => self.listed.push((seq, entry.key)),
            (Event::Habit, Cause::LateLease) => {
                findings.push(view.ring, late_lease(view, vec![seq], entry, "SET NX PX does both"));
            }
            (Event::Habit, Cause::PlainSet) if self.plain.insert((entry.key, overwrites(view, entry))) => {
                let text = plain_set(view, entry);
                findings.push(view.ring, habit((entry.key, entry.owner), vec![seq], text));
            }
            _ => {}
        }
    }

    fn memory(&self) -> usize {
        let listings = self.listings.as_ref().map_or(0, Listings::memory);
        vec_heap_bytes(&self.listed) + set_heap_bytes(&self.plain) + listings
    }
}
