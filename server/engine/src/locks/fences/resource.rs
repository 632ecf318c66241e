//! One fenced resource.

use crate::spec::CommandError;
use lockwheel_store::keyspace::DbKey;

/// Where a resource's tokens come from: those of different sources cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::locks) enum TokenSource {
    /// The server's sequence of grants.
    Sequence,
    /// The counter of this fenced lock.
    Counter(DbKey),
}

impl TokenSource {
    /// As replies spell it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            TokenSource::Sequence => "sequence",
            TokenSource::Counter(_) => "counter",
        }
    }

    /// Bytes of the name of its lock.
    fn bytes(&self) -> usize {
        match self {
            TokenSource::Sequence => 0,
            TokenSource::Counter((_, key)) => key.len(),
        }
    }
}

/// What a resource has been shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resource {
    /// The highest token.
    pub(super) highest: i64,
    /// Where its tokens come from, once a grant has said so.
    pub(super) source: Option<TokenSource>,
    /// How many tokens it has accepted and refused.
    pub(super) accepted: u64,
    pub(super) refused: u64,
    /// The number of the last use of any resource that was of this one.
    pub(super) last_use: u64,
}

impl Resource {
    /// Shows it a token, which it accepts unless it has seen a higher one.
    pub(super) fn show(&mut self, token: i64) -> Result<(), CommandError> {
        if token < self.highest {
            self.refused += 1;
            return Err(CommandError::new(format!("STALE token {token} below {}", self.highest)));
        }
        self.highest = token;
        self.accepted += 1;
        Ok(())
    }

    /// Whether tokens of this source can be compared with those that it has seen.
    pub(super) fn takes(&self, source: &TokenSource) -> Result<(), CommandError> {
        let Some(own) = self.source.as_ref().filter(|own| *own != source) else { return Ok(()) };
        let (own, other) = match (own.name(), source.name()) {
            (own, other) if own == other => (own, "counter of another lock"),
            names => names,
        };
        Err(CommandError::new(format!("ERR this resource takes tokens of the {own}, not of the {other}")))
    }

    /// Bytes of the name of the lock whose counter it goes by.
    pub(super) fn source_bytes(&self) -> usize {
        self.source.as_ref().map_or(0, TokenSource::bytes)
    }
}
