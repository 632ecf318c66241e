//! One fenced resource.

use crate::spec::CommandError;
use lockwheel_store::keyspace::DbKey;

/// The source of a resource's tokens. Tokens of different sources cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::locks) enum TokenSource {
    /// The server's sequence of grants.
    Sequence,
    Counter(DbKey),
}

impl TokenSource {
    pub(super) fn name(&self) -> &'static str {
        match self {
            TokenSource::Sequence => "sequence",
            TokenSource::Counter(_) => "counter",
        }
    }

    fn bytes(&self) -> usize {
        match self {
            TokenSource::Sequence => 0,
            TokenSource::Counter((_, key)) => key.len(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) highest: i64,
    /// The source of the tokens, once a grant has named it.
    pub(super) source: Option<TokenSource>,
    pub(super) accepted: u64,
    pub(super) refused: u64,
    /// The number of the last use of this resource, among the uses of all resources.
    pub(super) last_use: u64,
}

impl Resource {
    /// Shows the resource a token, which it accepts unless it has seen a higher one.
    pub(super) fn show(&mut self, token: i64) -> Result<(), CommandError> {
        if token < self.highest {
            self.refused += 1;
            return Err(CommandError::new(format!(
                "STALE token {token} is below the highest token {}",
                self.highest
            )));
        }
        self.highest = token;
        self.accepted += 1;
        Ok(())
    }

    /// Checks that tokens of this source can be compared with those that the resource has seen.
    pub(super) fn takes(&self, source: &TokenSource) -> Result<(), CommandError> {
        let Some(own) = self.source.as_ref().filter(|own| *own != source) else { return Ok(()) };
        let (own, other) = match (own.name(), source.name()) {
            (own, other) if own == other => (own, "counter of another lock"),
            names => names,
        };
        Err(CommandError::new(format!("ERR this resource accepts tokens of the {own}, not of the {other}")))
    }

    /// Returns the bytes of the name of the lock whose counter gives the tokens.
    pub(super) fn source_bytes(&self) -> usize {
        self.source.as_ref().map_or(0, TokenSource::bytes)
    }
}
