//! Connections to other servers for which a thread blocks.

use lockwheel_engine::core::{Broken, NotConnected, Target, TargetAddress};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PART: usize = 64 * 1024;
/// The most bytes of a line that are kept.
const MAX_LINE_BYTES: usize = 1023;
/// The most milliseconds that `poll` takes, as good as no limit.
const MAX_TIMEOUT: Duration = Duration::from_millis(i32::MAX as u64);

pub(super) struct TcpTarget {
    stream: BufReader<TcpStream>,
    timeout: Duration,
    /// Whether a thread waits for the other server.
    awaited: Arc<AtomicBool>,
}

/// A guard that marks the thread as waiting until dropped.
struct Awaiting<'a>(&'a AtomicBool);

impl<'a> Awaiting<'a> {
    fn begin(awaited: &'a AtomicBool) -> Self {
        awaited.store(true, Ordering::SeqCst);
        Awaiting(awaited)
    }
}

impl Drop for Awaiting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[derive(Clone, Copy)]
struct Deadline(Instant);

impl Deadline {
    fn after(timeout: Duration) -> Self {
        Deadline(Instant::now() + timeout)
    }

    fn left(self) -> io::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl TcpTarget {
    /// Connects to the first address of the host that answers.
    pub(super) fn connect(
        address: TargetAddress<'_>,
        awaited: Arc<AtomicBool>,
    ) -> Result<Self, NotConnected> {
        let awaiting = Awaiting::begin(&awaited);
        let timeout = address.timeout.min(MAX_TIMEOUT);
        let stream = connect(address, Deadline::after(timeout)).map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => NotConnected::Refused,
            _ => NotConnected::Unreachable,
        })?;
        drop(awaiting);
        Ok(TcpTarget { stream: BufReader::new(stream), timeout, awaited })
    }

    fn send_part(&mut self, mut part: &[u8]) -> io::Result<()> {
        let deadline = Deadline::after(self.timeout);
        let mut stream = self.stream.get_ref();
        while !part.is_empty() {
            stream.set_write_timeout(Some(deadline.left()?))?;
            match stream.write(part) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => part = &part[sent..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read_line(&mut self) -> io::Result<Vec<u8>> {
        let deadline = Deadline::after(self.timeout);
        let mut line = Vec::new();
        loop {
            if self.stream.buffer().is_empty() {
                self.stream.get_ref().set_read_timeout(Some(deadline.left()?))?;
            }
            let received = match self.stream.fill_buf() {
                Ok([]) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                received => received?,
            };
            let end = received.iter().position(|byte| *byte == b'\n');
            let text = &received[..end.unwrap_or(received.len())];
            line.extend(&text[..text.len().min(MAX_LINE_BYTES - line.len())]);
            let consumed = text.len() + usize::from(end.is_some());
            self.stream.consume(consumed);
            if end.is_some() {
                line.pop_if(|last| *last == b'\r');
                return Ok(line);
            }
        }
    }
}

fn connect(address: TargetAddress<'_>, deadline: Deadline) -> io::Result<TcpStream> {
    let host = str::from_utf8(address.host).map_err(|_| ErrorKind::InvalidInput)?;
    let mut failure = ErrorKind::NotFound.into();
    for address in (host, address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, deadline.left()?) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

impl Target for TcpTarget {
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let awaited = self.awaited.clone();
        let _awaiting = Awaiting::begin(&awaited);
        bytes.chunks(PART).try_for_each(|part| self.send_part(part)).map_err(|_| Broken)
    }

    fn receive_line(&mut self) -> Result<Vec<u8>, Broken> {
        let awaited = self.awaited.clone();
        let _awaiting = Awaiting::begin(&awaited);
        self.read_line().map_err(|_| Broken)
    }
}
