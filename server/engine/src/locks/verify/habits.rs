//! `bare-habits`: what goes wrong some day: a lease that is set after the lock was taken, a SET without NX that is to
//! take one, and KEYS where locks are.

use super::super::history::{Cause, Entry, Event, Name, OVERWRITES};
use super::finding::{Finding, Level, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::listings::Listings;
use super::locks::View;
use lockwheel_store::memory::{of_set, of_vec};
use std::collections::BTreeSet;

/// The calls of KEYS, and what has been seen of other habits.
#[derive(Debug, Default)]
pub(super) struct Habits {
    /// The entries with their patterns.
    listed: Vec<(u64, Name)>,
    /// The patterns, once they are compared with the locks.
    listings: Option<Listings>,
    /// The locks that were taken by a SET without NX, and whether that has overwritten another's text: each is told of
    /// once.
    plain: BTreeSet<(Name, bool)>,
}

/// A habit of an owner's, shown by these entries.
fn habit(of: (Name, Name), seqs: Vec<u64>, text: String) -> Finding {
    Finding::new(Level::Lint, "bare-habits", of, seqs, text)
}

/// A lock was taken without a lease, which came by a later request, as this entry tells.
pub(super) fn late_lease(view: View<'_>, seqs: Vec<u64>, entry: &Entry, advice: &str) -> Finding {
    let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
    let text = format!("{owner} took {lock} without a lease and set that later: {advice}");
    habit((entry.key, entry.owner), seqs, text)
}

/// Whether a SET without NX has put its text in the place of another's.
fn overwrites(view: View<'_>, entry: &Entry) -> bool {
    view.ring.text(entry.text) == OVERWRITES
}

/// A SET without NX of a lock, in words.
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
        of_vec(&self.listed) + of_set(&self.plain) + listings
    }
}
