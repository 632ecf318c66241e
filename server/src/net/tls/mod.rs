//! Connections over TLS. A socket is plain or encrypted (`socket.rs`); nothing else of the server sees the difference.

mod ciphers;
mod context;
mod encrypted_key;
mod files;
mod resumption;
mod socket;

#[cfg(test)]
mod tests;

pub(super) use context::TlsContext;
pub(super) use socket::TlsSocket;
