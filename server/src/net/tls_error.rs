//! Why connections over TLS cannot be made.

use std::fmt;

/// Connections over TLS cannot be made as the parameters say; its text says why, in Redis' words where it has any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(String);

impl TlsError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        TlsError(text.into())
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}
