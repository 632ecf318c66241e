//! Replacements for TLS types in a server built without TLS: connections that cannot exist.

use super::tls_error::TlsError;
use lockwheel_engine::config::TlsParameters;
use mio::event::Source;
use mio::{Interest, Registry, Token};
use std::io::{self, Read, Write};

#[derive(Clone, Debug)]
pub(super) enum TlsContext {}

impl TlsContext {
    pub(super) fn load(_: &TlsParameters) -> Result<Self, TlsError> {
        Err(TlsError::new("This server was built without TLS."))
    }

    pub(super) fn accept(&self, _: std::net::TcpStream) -> io::Result<TlsSocket> {
        match *self {}
    }
}

#[derive(Debug)]
pub(super) enum TlsSocket {}

impl TlsSocket {
    pub(super) fn may_have_more(&self) -> bool {
        match *self {}
    }

    pub(super) fn has_unsent(&self) -> bool {
        match *self {}
    }
}

impl Read for &TlsSocket {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match **self {}
    }
}

impl Write for &TlsSocket {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match **self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match **self {}
    }
}

impl Source for TlsSocket {
    fn register(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        match *self {}
    }

    fn reregister(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        match *self {}
    }

    fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        match *self {}
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for TlsSocket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match *self {}
    }
}
