//! The findings of invariants.

use super::super::history::{Entry, Name, Ring};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// A bad practice that may cause a failure later.
    Lint,
    /// The invariant may have been violated.
    Suspect,
    Violation,
}

impl Severity {
    pub(super) const ALL: [Self; 3] = [Severity::Lint, Severity::Suspect, Severity::Violation];

    pub(super) fn name(self) -> &'static str {
        match self {
            Severity::Lint => "lint",
            Severity::Suspect => "suspect",
            Severity::Violation => "violation",
        }
    }
}

/// A finding of an invariant: the key, the owners, the entries and a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) level: Severity,
    pub(super) invariant: &'static str,
    pub(super) key: Name,
    /// The numbers of the entries that prove the finding, in order.
    pub(super) seqs: Vec<u64>,
    pub(super) owners: Vec<Name>,
    pub(super) text: String,
}

impl Finding {
    /// Returns a finding on one owner of a lock.
    pub(super) fn new(
        level: Severity,
        invariant: &'static str,
        (key, owner): (Name, Name),
        seqs: Vec<u64>,
        text: String,
    ) -> Self {
        let owners = if owner == Name::NONE { Vec::new() } else { vec![owner] };
        Finding { level, invariant, key, seqs, owners, text }
    }

    /// Returns the approximate number of bytes that the finding takes in a reply. O(its entries).
    pub(super) fn shown_bytes(&self, ring: &Ring) -> usize {
        let named = |names: &[Name]| names.iter().map(|name| ring.text(*name).len()).sum::<usize>();
        let entries = self.seqs.iter().filter_map(|&seq| ring.get(seq));
        let entries = entries.map(|entry| ENTRY_BYTES + named(&[entry.key, entry.owner, entry.client_name]));
        self.text.len() + named(&[self.key]) + named(&self.owners) + entries.sum::<usize>()
    }
}

/// The size in bytes of an entry as evidence, without its names.
const ENTRY_BYTES: usize = 64;

/// Returns the text of a name, with invalid UTF-8 replaced.
pub(super) fn words(ring: &Ring, name: Name) -> String {
    String::from_utf8_lossy(ring.text(name)).into_owned()
}

/// Returns the description of an entry that LOCK.VERIFY shows as evidence.
pub(super) fn evidence(ring: &Ring, seq: u64, entry: &Entry) -> String {
    let mut text = format!("{seq} at {}: {}", ring.when(seq, entry).monotonic_ms, entry.event.name());
    let named = [("", entry.owner), ("of", entry.key), ("by", entry.client_name)];
    for (word, name) in named.into_iter().filter(|(_, name)| *name != Name::NONE) {
        if !word.is_empty() {
            text.push(' ');
            text.push_str(word);
        }
        text.push(' ');
        text.push_str(&words(ring, name));
    }
    if entry.grant > 0 {
        text.push_str(&format!(", grant {}", entry.grant));
    }
    if entry.client > 0 {
        text.push_str(&format!(", client {}", ring.client_of(entry)));
    }
    if let Some(node) = ring.place(seq) {
        text.push_str(&format!(", on {}", String::from_utf8_lossy(node)));
    }
    let cause = entry.cause.name();
    if !cause.is_empty() {
        text.push_str(&format!(", {cause}"));
    }
    text
}
