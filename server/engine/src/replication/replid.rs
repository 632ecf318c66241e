//! The name of a replication history (replication id).

use lockwheel_store::keyspace::Rng;
use std::fmt;

/// The name of a replication history: forty hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplicationId([u8; 40]);

impl ReplicationId {
    /// The name that stands for no history.
    pub(crate) const NONE: Self = ReplicationId([b'0'; 40]);

    /// Creates a random name.
    pub(crate) fn random(rng: &mut Rng) -> Self {
        ReplicationId([0; 40].map(|_: u8| b"0123456789abcdef"[rng.below(16) as usize]))
    }

    /// Parses a name that a server has sent; `None` if the text is not a name.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        text.try_into().ok().map(ReplicationId)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the text is this name, ignoring case.
    pub(crate) fn is(&self, text: &[u8]) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }
}

impl fmt::Display for ReplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}
