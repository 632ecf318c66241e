//! The socket of a client over TLS, read and written like a plain one.

use mio::event::Source;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use parking_lot::Mutex;
use rustls::ServerConnection;
use socket2::SockRef;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::time::Duration;

/// The encrypted bytes that may wait for room in the system's buffer. Meanwhile the socket takes no more.
const MAX_UNSENT_BYTES: usize = 64 * 1024;

/// A connection over TLS, from its handshake on, which reading performs. Dropping the socket tells the client that
/// nothing more comes. Boxed, so that plain sockets need no more room.
#[derive(Debug)]
pub(in crate::net) struct TlsSocket(Box<Inner>);

#[derive(Debug)]
struct Inner {
    stream: TcpStream,
    /// Only the connection's own loop locks the state, so no thread waits.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connection: ServerConnection,
    /// Whether the last read may not have emptied the stream.
    may_have_more: bool,
    /// Whether the client has announced the end of its data.
    ended: bool,
    /// The error that ends the connection once earlier data has been read.
    failed: Option<rustls::Error>,
    /// The beginning of the first record, until it has been checked.
    beginning: Option<Beginning>,
    /// Whether dropping the connection resets it.
    resets: bool,
}

const HEADER_BYTES: usize = 5;

/// The first bytes of a client, up to a record's header.
#[derive(Debug, Default)]
struct Beginning {
    bytes: [u8; HEADER_BYTES],
    len: usize,
}

impl Beginning {
    /// Takes bytes up to the end of the header, and returns their number.
    fn take(&mut self, from: &[u8]) -> usize {
        let taken = from.len().min(HEADER_BYTES - self.len);
        self.bytes[self.len..self.len + taken].copy_from_slice(&from[..taken]);
        self.len += taken;
        taken
    }

    fn is_whole(&self) -> bool {
        self.len == HEADER_BYTES
    }

    /// Whether the bytes are the header of a record: a version of TLS follows the type.
    fn is_record(&self) -> bool {
        self.bytes[1] == 3
    }
}

impl TlsSocket {
    pub(super) fn new(stream: std::net::TcpStream, mut connection: ServerConnection) -> Self {
        connection.set_buffer_limit(Some(MAX_UNSENT_BYTES));
        let state = State {
            connection,
            may_have_more: false,
            ended: false,
            failed: None,
            beginning: Some(Beginning::default()),
            resets: false,
        };
        TlsSocket(Box::new(Inner { stream: TcpStream::from_std(stream), state: Mutex::new(state) }))
    }

    /// Whether a read may return data although the last did not fill the buffer and the stream is not ready.
    pub(in crate::net) fn may_have_more(&self) -> bool {
        self.0.state.lock().may_have_more
    }

    /// Whether written bytes wait for room in the system's buffer.
    pub(in crate::net) fn has_unsent(&self) -> bool {
        self.0.state.lock().connection.wants_write()
    }

    fn place(&self) -> String {
        self.0.stream.peer_addr().map_or_else(|_| String::new(), |address| format!(" (addr={address})"))
    }
}

impl Read for &TlsSocket {
    /// Reads from the stream once and decrypts into `buffer`, which must have room for four records. Returns 0 at the
    /// end, `WouldBlock` if the stream is empty, and `Interrupted` if there is no data yet but more may be there.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.state.lock();
        let was_handshaking = state.connection.is_handshaking();
        let read = state.read(&self.0.stream, buffer);
        if let Err(error) = &read
            && was_handshaking
            && error.kind() == ErrorKind::InvalidData
        {
            tracing::warn!("Error accepting a client connection: {error}{}", self.place());
        }
        read
    }
}

impl Write for &TlsSocket {
    /// Encrypts and sends as many bytes as there is room for. Returns `WouldBlock` if there is none.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = self.0.state.lock();
        state.send(&self.0.stream)?;
        let written = state.connection.writer().write_vectored(slices)?;
        match state.send(&self.0.stream) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            // There is little room before the end of the handshake.
            _ if written == 0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(written),
        }
    }

    /// Sends the waiting bytes. Returns `WouldBlock` if there is not enough room for all.
    fn flush(&mut self) -> io::Result<()> {
        self.0.state.lock().send(&self.0.stream)
    }
}

impl Source for TlsSocket {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.0.stream.register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.0.stream.reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.0.stream.deregister(registry)
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for TlsSocket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.stream.as_fd()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if state.resets {
            // Without a reset the client would see the end of the data, but not that its bytes were refused.
            let _gone_already = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
            return;
        }
        if state.beginning.is_some() {
            // The client has sent nothing that is TLS, so the server sends no TLS either.
            return;
        }
        state.connection.send_close_notify();
        let _gone_already = state.send(&self.stream);
    }
}

impl State {
    fn read(&mut self, mut stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        self.may_have_more = false;
        if let Some(error) = self.failed.take() {
            return Err(broken(error));
        }
        if self.ended {
            return Ok(0);
        }
        // Received bytes go into the back half of the buffer, decrypted bytes to the front. These may be longer by the
        // beginning of an unfinished record, but never reach the bytes still to be decrypted.
        let half = buffer.len() / 2;
        let received = stream.read(&mut buffer[half..])?;
        if received == 0 {
            return Ok(0);
        }
        let begin = half + self.begin(&buffer[half..half + received])?;
        let decrypted = self.decrypt(buffer, begin, half + received);
        // The next write reports the error.
        let _reported = self.send(stream);
        self.may_have_more = half + received == buffer.len() || self.ended || self.failed.is_some();
        match (decrypted, self.failed.take()) {
            (0, Some(error)) => Err(broken(error)),
            (0, None) if self.ended => Ok(0),
            (0, None) => Err(ErrorKind::Interrupted.into()),
            (read, failed) => {
                self.failed = failed;
                Ok(read)
            }
        }
    }

    /// Checks the first bytes of a client. If they are not TLS, the connection is reset without an alert, as in Redis:
    /// the client would take an alert for a broken reply. Returns how many bytes it has taken, `Interrupted` if it
    /// needs more, or `InvalidData`.
    fn begin(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(beginning) = &mut self.beginning else { return Ok(0) };
        let taken = beginning.take(bytes);
        if !beginning.is_whole() {
            return Err(ErrorKind::Interrupted.into());
        }
        if !beginning.is_record() {
            self.resets = true;
            return Err(io::Error::new(ErrorKind::InvalidData, "wrong version number"));
        }
        let header = beginning.bytes;
        self.beginning = None;
        if let Err(error) = self.connection.read_tls(&mut &header[..]) {
            self.failed = Some(rustls::Error::General(error.to_string()));
        }
        Ok(taken)
    }

    /// Decrypts `buffer[from..to]` to the front of the buffer. Returns the number of decrypted bytes.
    fn decrypt(&mut self, buffer: &mut [u8], mut from: usize, to: usize) -> usize {
        let mut len = 0;
        while from < to && !self.ended && self.failed.is_none() {
            let (front, back) = buffer.split_at_mut(from);
            match self.connection.read_tls(&mut &back[..to - from]) {
                Ok(taken) => from += taken,
                // The TLS library accepts bytes again each time that all its output was read.
                Err(error) => self.failed = Some(rustls::Error::General(error.to_string())),
            }
            match self.connection.process_new_packets() {
                Ok(state) => self.ended = state.peer_has_closed(),
                Err(error) => {
                    use rustls::InvalidMessage::{InvalidContentType, UnknownProtocolVersion};
                    // Redis leaves the bytes after such a header unread: a reset follows the alert.
                    self.resets = matches!(
                        error,
                        rustls::Error::InvalidMessage(InvalidContentType | UnknownProtocolVersion)
                    );
                    self.failed = Some(error);
                }
            }
            let mut reader = self.connection.reader();
            while let Ok(read @ 1..) = reader.read(&mut front[len..]) {
                len += read;
            }
        }
        len
    }

    fn send(&mut self, mut stream: &TcpStream) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut stream) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
