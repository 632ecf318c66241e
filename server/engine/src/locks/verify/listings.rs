//! `bare-habits`: KEYS that lists locks. Each pattern is reported once, with the first lock that it lists.

use super::super::history::{Name, Ring};
use super::finding::{Finding, Severity, words};
use super::findings::Findings;
use super::locks::View;
use lockwheel_store::keyspace::glob;
use lockwheel_store::memory::vec_heap_bytes;

/// The maximum number of comparisons of a pattern with a lock.
const MAX_COMPARISONS: u64 = 4_000_000;

#[derive(Debug)]
pub(super) struct Listings {
    /// The entries with their patterns, in order.
    patterns: Vec<(u64, Name)>,
    /// The locks, sorted by database and name.
    locks: Vec<Name>,
    /// The number of patterns that have been compared.
    compared: usize,
    /// The index of the lock to compare the current pattern with next. `None`: it has not been compared yet.
    next: Option<usize>,
    comparisons: u64,
}

/// Returns the prefix of a pattern, up to its first special character.
fn literal(pattern: &[u8]) -> &[u8] {
    let end = pattern.iter().position(|byte| b"*?[\\".contains(byte)).unwrap_or(pattern.len());
    &pattern[..end]
}

/// Returns the sort key of a lock.
fn place(ring: &Ring, name: Name) -> (Option<usize>, &[u8]) {
    (ring.db(name), ring.text(name))
}

impl Listings {
    /// Prepares the comparison of these entries' patterns with all locks. O(n log n).
    pub(super) fn new(view: View<'_>, mut patterns: Vec<(u64, Name)>) -> Self {
        patterns.sort_by_key(|(_, pattern)| *pattern);
        patterns.dedup_by_key(|(_, pattern)| *pattern);
        patterns.sort_by_key(|(seq, _)| *seq);
        let mut locks: Vec<Name> = match patterns.is_empty() {
            true => Vec::new(),
            false => view.locks.by_key.keys().copied().collect(),
        };
        locks.sort_by(|one, other| place(view.ring, *one).cmp(&place(view.ring, *other)));
        Listings { patterns, locks, compared: 0, next: None, comparisons: 0 }
    }

    /// Returns the memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        vec_heap_bytes(&self.patterns) + vec_heap_bytes(&self.locks)
    }

    /// Makes at most `steps` comparisons. Returns whether all patterns have been compared.
    pub(super) fn go_on(&mut self, view: View<'_>, steps: &mut u64, findings: &mut Findings) -> bool {
        while let Some(&(seq, pattern)) = self.patterns.get(self.compared) {
            if self.comparisons >= MAX_COMPARISONS {
                self.give_up(view, seq, findings);
                return true;
            }
            if *steps == 0 {
                return false;
            }
            *steps -= 1;
            self.comparisons += 1;
            if let Some(lock) = self.compare(view.ring, pattern) {
                findings.push(view.ring, listed(view.ring, (seq, pattern), lock));
                self.go_to_next_pattern();
            }
        }
        true
    }

    /// Compares a pattern with the next lock, and returns the lock if it matches. After the last lock with the literal
    /// prefix of the pattern, moves on to the next pattern.
    fn compare(&mut self, ring: &Ring, pattern: Name) -> Option<Name> {
        let (db, text) = place(ring, pattern);
        let literal = literal(text);
        let first = || self.locks.partition_point(|lock| place(ring, *lock) < (db, literal));
        let at = self.next.unwrap_or_else(first);
        let lock = self.locks.get(at).copied().filter(|lock| {
            let (of, name) = place(ring, *lock);
            of == db && name.starts_with(literal)
        });
        match lock {
            Some(lock) if glob::matches(text, ring.text(lock), false) => return Some(lock),
            Some(_) => self.next = Some(at + 1),
            None => self.go_to_next_pattern(),
        }
        None
    }

    fn go_to_next_pattern(&mut self) {
        (self.compared, self.next) = (self.compared + 1, None);
    }

    /// Reports the number of patterns that have not been compared.
    fn give_up(&mut self, view: View<'_>, seq: u64, findings: &mut Findings) {
        let left = self.patterns.len() - self.compared;
        let text = format!("{left} patterns of KEYS were not compared with all locks: there are too many");
        let key = view.ring.get(seq).map_or(Name::NONE, |entry| entry.key);
        let (level, seqs, owners) = (Severity::Lint, vec![seq], Vec::new());
        findings.push(view.ring, Finding { level, invariant: "bare-habits", key, seqs, owners, text });
        self.compared = self.patterns.len();
    }
}

fn listed(ring: &Ring, (seq, pattern): (u64, Name), key: Name) -> Finding {
    let [lock, pattern] = [key, pattern].map(|name| words(ring, name));
    let text = format!("KEYS {pattern} walks all keys to find locks as {lock}");
    let (level, seqs, owners) = (Severity::Lint, vec![seq], Vec::new());
    Finding { level, invariant: "bare-habits", key, seqs, owners, text }
}
