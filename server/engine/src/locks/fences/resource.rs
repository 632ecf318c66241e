//! One fenced resource.

use crate::spec::CommandError;

/// Where a resource's tokens come from: those of different sources cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) enum TokenSource {
    /// The server's sequence of grants.
    Sequence,
    /// A fenced lock's own counter.
    Counter,
}

impl TokenSource {
    /// As replies spell it.
    pub(in crate::locks) fn name(self) -> &'static str {
        match self {
            TokenSource::Sequence => "sequence",
            TokenSource::Counter => "counter",
        }
    }
}

/// What a resource has been shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Resource {
    /// The highest token.
    pub(super) highest: i64,
    /// Where its tokens come from, once a grant has said so.
    pub(super) source: Option<TokenSource>,
    /// How many tokens it has accepted and refused.
    pub(super) accepted: u64,
    pub(super) refused: u64,
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
    pub(super) fn takes(&self, source: TokenSource) -> Result<(), CommandError> {
        match self.source.filter(|own| *own != source) {
            None => Ok(()),
            Some(own) => Err(CommandError::new(format!(
                "ERR this resource takes tokens of the {}, not of the {}",
                own.name(),
                source.name()
            ))),
        }
    }
}
