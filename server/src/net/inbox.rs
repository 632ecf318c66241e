//! What other threads leave for a loop, and how they wake it.

use super::connection::SessionStatus;
use super::shared::Seat;
use super::socket::Socket;
use lockwheel_engine::Engine;
use lockwheel_engine::clients::{ClientBuffers, Outbox, Peer, Slot};
use lockwheel_engine::core::Progress;
use mio::Waker;
use parking_lot::Mutex;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a connection is silent before the system asks whether its client is still there: the
/// default of Redis' `tcp-keepalive`, which is not read yet.
const KEEP_ALIVE: Duration = Duration::from_secs(300);

/// Where a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The number of its loop.
    pub(super) index: usize,
    /// Its place there.
    pub(super) key: usize,
}

/// A connected client, as all threads see it.
pub(super) struct Client {
    pub(super) address: Address,
    pub(super) socket: Arc<Socket>,
}

/// What is left for a loop.
pub(super) enum LoopMessage {
    /// A new connection.
    Open(NewConnection),
    /// The same, with the session that a slow script's thread has made for it.
    Opened(NewConnection, NewSession),
    /// The session of a connection has news.
    SessionStatus {
        /// Its place.
        key: usize,
    },
    /// The slow script's thread has run a request.
    Answered {
        /// The place of who sent it.
        key: usize,
        /// Its session.
        id: u64,
        /// What came of it.
        answer: Answer,
    },
}

/// What came of a request that another thread has run.
pub(super) struct Answer {
    pub(super) status: SessionStatus,
    pub(super) out: Outbox,
    pub(super) progress: Progress,
}

/// A socket that has no session yet.
pub(super) struct NewConnection {
    pub(super) stream: Socket,
    pub(super) seat: Seat,
    peer: Peer,
}

/// The session of a new connection.
pub(super) struct NewSession {
    pub(super) slot: Slot,
    pub(super) id: u64,
    pub(super) status: SessionStatus,
    pub(super) buffers: Arc<ClientBuffers>,
}

impl NewConnection {
    /// A socket that does not block, and who is at its other end.
    pub(super) fn new(stream: std::net::TcpStream, seat: Seat) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEP_ALIVE))?;
        let address = stream.peer_addr()?;
        if address.ip().to_canonical().is_loopback() {
            spare_pacing(&stream);
        }
        let peer = Peer {
            addr: address.to_string(),
            laddr: stream.local_addr()?.to_string(),
            fd: raw_fd(&stream),
            unix: false,
        };
        Ok(NewConnection { stream: stream.into(), seat, peer })
    }

    /// The same for a client of the unix socket at `path`.
    #[cfg(unix)]
    pub(super) fn unix(stream: std::os::unix::net::UnixStream, path: &str, seat: Seat) -> Self {
        use std::os::fd::AsRawFd;
        let addr = format!("{path}:0");
        let peer = Peer { laddr: addr.clone(), addr, fd: stream.as_raw_fd(), unix: true };
        NewConnection { stream: stream.into(), seat, peer }
    }

    /// Makes its session.
    pub(super) fn connect(&self, engine: &mut Engine) -> NewSession {
        let id = self.seat.id;
        let slot = engine.connect_as(id, self.peer.clone());
        NewSession { slot, id, status: SessionStatus::of(engine, slot), buffers: engine.buffers(slot) }
    }
}

/// Within one machine there is no congestion to be controlled. The simplest algorithm, which every Linux has, spares
/// the work of those that measure and pace: some hundredths of a small request.
#[cfg(target_os = "linux")]
fn spare_pacing(stream: &std::net::TcpStream) {
    if let Err(error) = SockRef::from(stream).set_tcp_congestion(b"reno") {
        tracing::debug!(%error, "the system's congestion control stays");
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

/// The messages for one loop.
pub(crate) struct Inbox {
    messages: Mutex<Vec<LoopMessage>>,
    waker: Waker,
    connections: AtomicUsize,
}

impl Inbox {
    pub(super) fn new(waker: Waker) -> Self {
        Inbox { messages: Mutex::default(), waker, connections: AtomicUsize::new(0) }
    }

    /// Leaves something, and wakes the loop unless it has been woken already.
    pub(super) fn post(&self, message: LoopMessage) {
        let first = {
            let mut waiting = self.messages.lock();
            waiting.push(message);
            waiting.len() == 1
        };
        if first {
            self.wake();
        }
    }

    /// Lets the loop look around.
    pub(super) fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "a loop could not be woken");
        }
    }

    pub(super) fn take(&self) -> Vec<LoopMessage> {
        std::mem::take(&mut *self.messages.lock())
    }

    /// How many connections the loop has.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// A connection is on its way to the loop.
    pub(super) fn joined(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection of the loop is gone.
    pub(super) fn left(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
