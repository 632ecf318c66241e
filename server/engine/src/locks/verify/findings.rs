//! The findings that fit into a reply, and a count of the others.

use super::super::history::{Name, Ring};
use super::finding::{Finding, Severity};
use lockwheel_store::keyspace::glob;
use lockwheel_store::memory::vec_heap_bytes;

/// The maximum number of findings of a level that are shown.
const MAX_FINDINGS: usize = 500;
/// The maximum number of bytes of texts and names in the findings of a level.
const MAX_BYTES: usize = 2 << 20;
/// The maximum number of entries and owners that a finding shows.
pub(super) const MAX_SHOWN: usize = 64;
pub(super) const MAX_OF_ENTRY: usize = 8;

/// The filter that a request sets for findings.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The pattern that the key must match.
    pub(super) key: Option<Box<[u8]>>,
    pub(super) level: Severity,
}

impl Wanted {
    fn has(&self, ring: &Ring, level: Severity, key: Name) -> bool {
        let matches = |pattern: &[u8]| glob::matches(pattern, ring.text(key), false);
        level >= self.level && self.key.as_deref().is_none_or(matches)
    }
}

#[derive(Debug, Default)]
struct OfLevel {
    /// The findings, each with its number among the findings of all levels.
    shown: Vec<(u64, Finding)>,
    bytes: usize,
    left_out: u64,
}

#[derive(Debug)]
pub(super) struct Findings {
    wanted: Wanted,
    by_level: [OfLevel; Severity::ALL.len()],
    /// The number of findings that were shown so far.
    shown: u64,
}

impl Findings {
    pub(super) fn new(wanted: Wanted) -> Self {
        Findings { wanted, by_level: Default::default(), shown: 0 }
    }

    pub(super) fn wanted(&self) -> Wanted {
        self.wanted.clone()
    }

    /// Returns the approximate memory of the findings in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        self.by_level.iter().map(|of| of.bytes + vec_heap_bytes(&of.shown)).sum()
    }

    /// Adds a finding, or counts it if it does not fit. O(its entries).
    pub(super) fn push(&mut self, ring: &Ring, mut finding: Finding) {
        if !self.wanted.has(ring, finding.level, finding.key) {
            return;
        }
        let of_level = &mut self.by_level[finding.level as usize];
        finding.seqs.truncate(MAX_SHOWN);
        finding.owners.truncate(MAX_SHOWN);
        let bytes = finding.shown_bytes(ring);
        if of_level.shown.len() < MAX_FINDINGS && of_level.bytes + bytes <= MAX_BYTES {
            of_level.bytes += bytes;
            of_level.shown.push((self.shown, finding));
            self.shown += 1;
        } else {
            of_level.left_out += 1;
        }
    }

    /// Counts findings that are not shown. O(1).
    pub(super) fn leave_out(&mut self, ring: &Ring, level: Severity, key: Name, count: usize) {
        if count > 0 && self.wanted.has(ring, level, key) {
            self.by_level[level as usize].left_out += count as u64;
        }
    }

    /// Returns the worst level that was found. O(1).
    pub(super) fn worst(&self) -> Option<Severity> {
        let is_found = |of: &OfLevel| !of.shown.is_empty() || of.left_out > 0;
        Severity::ALL.into_iter().rev().find(|level| is_found(&self.by_level[*level as usize]))
    }

    /// Returns the number of findings that were left out. O(1).
    pub(super) fn left_out(&self) -> u64 {
        self.by_level.iter().map(|of_level| of_level.left_out).sum()
    }

    /// Returns the findings that are shown, in the order of their last entries. O(n log n).
    pub(super) fn take(&mut self) -> Vec<Finding> {
        let by_level = self.by_level.iter_mut();
        let mut all: Vec<(u64, Finding)> = by_level.flat_map(|of| std::mem::take(&mut of.shown)).collect();
        all.sort_by_key(|(number, finding)| (finding.seqs.last().copied(), *number));
        all.into_iter().map(|(_, finding)| finding).collect()
    }
}
