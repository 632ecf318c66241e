//! `bare-habits`: what goes wrong some day: a lease that is set after the lock was taken, a SET without NX that is to
//! take one, and KEYS where locks are.

use super::super::history::{Cause, Entry, Event, Name};
use super::finding::{Finding, Level, words};
use super::findings::Findings;
use super::invariant::Invariant;
use super::locks::View;
use crate::keyspace::glob;
use crate::time::Now;
use std::collections::BTreeSet;

/// The most patterns of KEYS that are compared with the locks.
const MAX_PATTERNS: usize = 64;

/// The calls of KEYS: the entries with their patterns.
#[derive(Debug, Default)]
pub(super) struct Habits {
    listed: Vec<(u64, Name)>,
    /// The locks that were taken by a SET without NX: each is told of once.
    plain: BTreeSet<Name>,
}

impl Invariant for Habits {
    fn see(&mut self, view: View<'_>, seq: u64, entry: &Entry, findings: &mut Findings) {
        match (entry.event, entry.cause) {
            (Event::Habit, Cause::Keys) => self.listed.push((seq, entry.key)),
            (Event::Habit, Cause::LateLease) => {
                let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
                findings.push(
                    view.ring,
                    Finding {
                        level: Level::Lint,
                        invariant: "bare-habits",
                        key: entry.key,
                        seqs: vec![seq],
                        owners: vec![entry.owner],
                        text: format!(
                            "{owner} took {lock} without a lease and set that later: SET NX PX does both"
                        ),
                    },
                );
            }
            (Event::Habit, Cause::PlainSet) if self.plain.insert(entry.key) => {
                let [lock, owner] = [entry.key, entry.owner].map(|name| words(view.ring, name));
                findings.push(view.ring, Finding {
                    level: Level::Lint,
                    invariant: "bare-habits",
                    key: entry.key,
                    seqs: vec![seq],
                    owners: vec![entry.owner],
                    text: format!(
                        "{lock} was set to {owner} by a SET without NX, which excludes nobody, and is given back by a \
                         comparison, as a lock is: perhaps its options were passed in another client's style"
                    ),
                });
            }
            _ => {}
        }
    }

    /// Each pattern is told of once: with the first lock that it lists.
    fn end(&mut self, view: View<'_>, _: Now, findings: &mut Findings) {
        self.listed.sort_by_key(|(_, pattern)| *pattern);
        self.listed.dedup_by_key(|(_, pattern)| *pattern);
        self.listed.sort_by_key(|(seq, _)| *seq);
        for &(seq, pattern) in self.listed.iter().take(MAX_PATTERNS) {
            let of_pattern = |key: &&Name| {
                glob::matches(view.ring.text(pattern), view.ring.text(**key), false)
                    && view.ring.db(pattern) == view.ring.db(**key)
            };
            let Some(&key) = view.locks.by_key.keys().find(of_pattern) else { continue };
            let [lock, listed] = [key, pattern].map(|name| words(view.ring, name));
            findings.push(
                view.ring,
                Finding {
                    level: Level::Lint,
                    invariant: "bare-habits",
                    key,
                    seqs: vec![seq],
                    owners: Vec::new(),
                    text: format!("KEYS {listed} walks all keys to find locks as {lock}"),
                },
            );
        }
    }
}
