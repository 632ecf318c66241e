//! The name of a history of changes.

use lockwheel_store::keyspace::Rng;
use std::fmt;

/// The name of a history of changes: forty hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplicationId([u8; 40]);

impl ReplicationId {
    /// Of no history.
    pub(crate) const NONE: Self = ReplicationId([b'0'; 40]);

    /// One chosen at random.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        ReplicationId([0; 40].map(|_: u8| b"0123456789abcdef"[rng.below(16) as usize]))
    }

    /// One that a server has sent; `None` when it is none.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        text.try_into().ok().map(ReplicationId)
    }

    /// Its digits.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether this is what a replica has sent, in either case.
    pub(crate) fn is(&self, text: &[u8]) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }
}

impl fmt::Display for ReplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}
