//! The error of TLS configurations.

use std::fmt;

/// An error in the TLS parameters. The text gives the reason, in Redis' words if Redis has any.
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
