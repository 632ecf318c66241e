//! An accepted connection: its socket, its peer, and the creation of its session.

use super::client_limit::ClientGuard;
use super::session_status::SessionStatus;
use super::socket::Socket;
use super::tls::TlsContext;
use lockwheel_engine::Engine;
use lockwheel_engine::clients::{ClientBuffers, Peer, Slot};
#[cfg(target_os = "linux")]
use socket2::SockRef;
use std::io;
use std::sync::Arc;

pub(super) struct NewConnection {
    pub(super) stream: Socket,
    pub(super) guard: ClientGuard,
    peer: Peer,
}

pub(super) struct NewSession {
    pub(super) slot: Slot,
    pub(super) id: u64,
    pub(super) status: SessionStatus,
    pub(super) buffers: Arc<ClientBuffers>,
}

impl NewConnection {
    pub(super) fn new(stream: std::net::TcpStream, guard: ClientGuard) -> io::Result<Self> {
        let peer = prepare(&stream)?;
        Ok(NewConnection { stream: stream.into(), guard, peer })
    }

    /// Prepares the socket of a client over TLS, whose handshake is still to come.
    pub(super) fn tls(
        stream: std::net::TcpStream,
        context: &TlsContext,
        guard: ClientGuard,
    ) -> io::Result<Self> {
        let peer = prepare(&stream)?;
        Ok(NewConnection { stream: context.accept(stream)?.into(), guard, peer })
    }

    #[cfg(unix)]
    pub(super) fn unix(stream: std::os::unix::net::UnixStream, path: &str, guard: ClientGuard) -> Self {
        use std::os::fd::AsRawFd;
        let addr = format!("{path}:0");
        let peer = Peer { laddr: addr.clone(), addr, fd: stream.as_raw_fd(), unix: true, in_process: false };
        NewConnection { stream: stream.into(), guard, peer }
    }

    pub(super) fn connect(&self, engine: &mut Engine) -> NewSession {
        let id = self.guard.id;
        let slot = engine.connect_as(id, self.peer.clone());
        NewSession {
            slot,
            id,
            status: SessionStatus::of(engine, slot),
            buffers: engine.sessions().buffers(slot),
        }
    }
}

/// Sets the options of a client's socket. Returns the client as CLIENT LIST shows it.
fn prepare(stream: &std::net::TcpStream) -> io::Result<Peer> {
    stream.set_nodelay(true)?;
    let address = stream.peer_addr()?;
    if address.ip().to_canonical().is_loopback() {
        spare_pacing(stream);
    }
    Ok(Peer {
        addr: address.to_string(),
        laddr: stream.local_addr()?.to_string(),
        fd: raw_fd(stream),
        unix: false,
        in_process: false,
    })
}

/// Selects the simplest congestion control, which every Linux has, since one machine has no congestion. Measuring and
/// pacing would cost some hundredths of a small request.
#[cfg(target_os = "linux")]
fn spare_pacing(stream: &std::net::TcpStream) {
    if let Err(error) = SockRef::from(stream).set_tcp_congestion(b"reno") {
        tracing::debug!(%error, "cannot set the congestion control; that of the system applies");
    }
}

#[cfg(not(target_os = "linux"))]
fn spare_pacing(_: &std::net::TcpStream) {}

#[cfg(unix)]
fn raw_fd(stream: &std::net::TcpStream) -> i32 {
    use std::os::fd::AsRawFd;
    stream.as_raw_fd()
}

#[cfg(not(unix))]
fn raw_fd(_: &std::net::TcpStream) -> i32 {
    0
}
