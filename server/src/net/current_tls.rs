//! The current TLS parameters of new connections.

use super::tls::TlsContext;
use parking_lot::Mutex;
use std::io;

/// The current TLS parameters of new connections; empty until TLS is enabled.
pub(super) struct CurrentTls(Mutex<Option<TlsContext>>);

impl CurrentTls {
    pub(super) fn new(context: Option<TlsContext>) -> Self {
        CurrentTls(Mutex::new(context))
    }

    pub(super) fn get(&self) -> io::Result<TlsContext> {
        self.0.lock().clone().ok_or(io::ErrorKind::NotConnected.into())
    }

    pub(super) fn set(&self, context: TlsContext) {
        *self.0.lock() = Some(context);
    }
}
