//! The filter for entries.

use super::entry::Entry;
use super::ring::Ring;
use crate::spec::{CommandError, ParsedArgs, Symbol, kept_pattern};
use lockwheel_store::keyspace::glob;

/// Patterns of keys and owners, and the number of an entry. Only later entries are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) key: Option<Box<[u8]>>,
    pub(crate) owner: Option<Box<[u8]>>,
    /// Only entries with a higher number are wanted.
    pub(crate) since: u64,
}

impl Filter {
    /// Returns the filter of a request: `KEY pattern`, `OWNER pattern`, `SINCE seq`. Fails if one of them is wrong.
    pub(crate) fn of(
        options: &ParsedArgs<'_>,
        [key, owner, since]: [Symbol; 3],
    ) -> Result<Self, CommandError> {
        let pattern = |symbol| -> Result<Option<Box<[u8]>>, CommandError> {
            Ok(options.value(symbol).map(kept_pattern).transpose()?.map(Box::from))
        };
        let since = options.number(since)?.unwrap_or(0);
        Ok(Filter { key: pattern(key)?, owner: pattern(owner)?, since })
    }

    /// Whether an entry is wanted. An entry without a key, or without an owner, matches no pattern of them.
    pub(in crate::locks) fn wants(&self, ring: &Ring, entry: &Entry) -> bool {
        let matches = |pattern: &Option<Box<[u8]>>, name| {
            let text = ring.text(name);
            pattern.as_ref().is_none_or(|pattern| !text.is_empty() && glob::matches(pattern, text, false))
        };
        matches(&self.key, entry.key) && matches(&self.owner, entry.owner)
    }
}
