//! How connections over TLS are made at present.

use super::tls::TlsContext;
use parking_lot::Mutex;
use std::io;

/// How connections over TLS are made at present; nothing, until they are wanted.
pub(super) struct CurrentTls(Mutex<Option<TlsContext>>);

impl CurrentTls {
    pub(super) fn new(context: Option<TlsContext>) -> Self {
        CurrentTls(Mutex::new(context))
    }

    /// How the next one is made.
    pub(super) fn get(&self) -> io::Result<TlsContext> {
        self.0.lock().clone().ok_or(io::ErrorKind::NotConnected.into())
    }

    /// Changes how those are made that come from now on.
    pub(super) fn set(&self, context: TlsContext) {
        *self.0.lock() = Some(context);
    }
}
