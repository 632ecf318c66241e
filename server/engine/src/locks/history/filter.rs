//! Which entries are wanted.

use super::entry::Entry;
use super::ring::Ring;
use crate::keyspace::glob;
use crate::spec::{Args, CommandError, errors, kept_pattern};

/// Patterns of keys and owners, and a number after which entries are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) key: Option<Box<[u8]>>,
    pub(crate) owner: Option<Box<[u8]>>,
    /// Only entries with a higher number.
    pub(crate) since: u64,
}

impl Filter {
    /// Reads `KEY glob`, `OWNER glob` or `SINCE seq` at argument `at`, each at most once; whether it was one of them.
    pub(crate) fn option(&mut self, args: Args<'_>, at: usize) -> Result<bool, CommandError> {
        let value = || args.get(at + 1).ok_or(errors::SYNTAX);
        let is_new = if args.is(at, "key") {
            self.key.replace(kept_pattern(value()?)?.into()).is_none()
        } else if args.is(at, "owner") {
            self.owner.replace(kept_pattern(value()?)?.into()).is_none()
        } else if args.is(at, "since") {
            value()?;
            let since = args.int_in(at + 1, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
            std::mem::replace(&mut self.since, since.unsigned_abs()) == 0
        } else {
            return Ok(false);
        };
        if is_new { Ok(true) } else { Err(errors::SYNTAX) }
    }

    /// Whether an entry is wanted. One that has no key, or no owner, matches no pattern of them.
    pub(in crate::locks) fn wants(&self, ring: &Ring, entry: &Entry) -> bool {
        let matches = |pattern: &Option<Box<[u8]>>, name| {
            let text = ring.text(name);
            pattern.as_ref().is_none_or(|pattern| !text.is_empty() && glob::matches(pattern, text, false))
        };
        matches(&self.key, entry.key) && matches(&self.owner, entry.owner)
    }
}
