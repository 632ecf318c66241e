//! A client's socket, TCP or unix, plain or encrypted.

use super::tls::TlsSocket;
use mio::event::Source;
use mio::net::TcpStream;
#[cfg(unix)]
use mio::net::UnixStream;
use mio::{Interest, Registry, Token};
use std::io::{self, IoSlice, Read, Write};

/// The stream of one client. Reading and writing need no exclusive access, as with the streams of the standard library.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    Tls(TlsSocket),
}

/// Evaluates the same expression for each kind of stream.
macro_rules! each {
    ($socket:expr, $stream:ident => $done:expr) => {
        match $socket {
            Socket::Tcp($stream) => $done,
            #[cfg(unix)]
            Socket::Unix($stream) => $done,
            Socket::Tls($stream) => $done,
        }
    };
}

impl Socket {
    /// Whether the peer has closed the connection or its sending half, whatever is still unread. Costs one system call.
    #[cfg(target_os = "linux")]
    pub(super) fn is_closed_by_peer(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let closed = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut polled = [PollFd::new(self, closed)];
        poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents().intersects(closed)
    }

    /// Returns false: on other systems only a read shows the close.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_closed_by_peer(&self) -> bool {
        false
    }

    /// Copies the next bytes without consuming them; none if the connection is encrypted.
    pub(super) fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.peek(buffer),
            #[cfg(unix)]
            Socket::Unix(stream) => {
                use rustix::net::{RecvFlags, recv};
                Ok(recv(stream, buffer, RecvFlags::PEEK)?.0)
            }
            Socket::Tls(_) => Ok(0),
        }
    }

    /// Whether there may be more to read although the last read has not filled its buffer.
    #[inline]
    pub(super) fn may_have_more(&self) -> bool {
        matches!(self, Socket::Tls(socket) if socket.may_have_more())
    }

    /// Whether written bytes still have to be sent by flushing.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        matches!(self, Socket::Tls(socket) if socket.has_unsent())
    }
}

impl Socket {
    /// Makes closing reset the connection, if its kind has resets.
    pub(super) fn reset_at_close(&self) {
        #[cfg(unix)]
        let _closed_otherwise =
            rustix::net::sockopt::set_socket_linger(self, Some(std::time::Duration::ZERO));
    }
}

impl Read for &Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        each!(*self, stream => (&*stream).read(buffer))
    }
}

impl Write for &Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        each!(*self, stream => (&*stream).write(bytes))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        each!(*self, stream => (&*stream).write_vectored(slices))
    }

    fn flush(&mut self) -> io::Result<()> {
        each!(*self, stream => (&*stream).flush())
    }
}

impl Source for Socket {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        each!(self, stream => stream.register(registry, token, interests))
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        each!(self, stream => stream.reregister(registry, token, interests))
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        each!(self, stream => stream.deregister(registry))
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Socket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        each!(self, stream => stream.as_fd())
    }
}

impl From<TlsSocket> for Socket {
    fn from(socket: TlsSocket) -> Self {
        Socket::Tls(socket)
    }
}

impl From<std::net::TcpStream> for Socket {
    /// Takes a stream that must not block.
    fn from(stream: std::net::TcpStream) -> Self {
        Socket::Tcp(TcpStream::from_std(stream))
    }
}

#[cfg(unix)]
impl From<std::os::unix::net::UnixStream> for Socket {
    fn from(stream: std::os::unix::net::UnixStream) -> Self {
        Socket::Unix(UnixStream::from_std(stream))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::unix::net::UnixStream;

    #[test]
    fn tcp_and_unix_streams_read_write_and_end() {
        let (unix, unix_peer) = UnixStream::pair().expect("the system has unix sockets");
        unix.set_nonblocking(true).expect("it is open");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let tcp_peer = std::net::TcpStream::connect(listener.local_addr().expect("it is bound"));
        let (tcp, _) = listener.accept().expect("somebody connects");
        tcp.set_nonblocking(true).expect("it is open");
        talks(&unix.into(), unix_peer);
        talks(&tcp.into(), tcp_peer.expect("it listens"));
    }

    fn talks(mut socket: &Socket, mut peer: impl Read + Write) {
        let mut buffer = [0; 8];
        let nothing = socket.read(&mut buffer).expect_err("nobody has sent anything");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        socket.write_all(b"hello").expect("the peer is there");
        socket.flush().expect("nothing is held back");
        peer.read_exact(&mut buffer[..5]).expect("it was sent");
        assert_eq!(&buffer[..5], b"hello");
        peer.write_all(b"x").expect("the server is there");
        assert!(!socket.is_closed_by_peer());
        drop(peer);
        // The bytes that the peer has sent can still be read.
        while cfg!(target_os = "linux") && !socket.is_closed_by_peer() {}
        // The bytes arrive at once or, over the network stack, as soon as the system has carried them.
        let read = loop {
            match socket.read(&mut buffer) {
                Ok(read) => break read,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        };
        assert_eq!(&buffer[..read], b"x");
    }
}
