//! A connection to a server that sends requests and reads replies in turn.

use super::trust::{self, Trust};
use super::{Address, Login};
use lockwheel_engine::config::system_reason;
use lockwheel_resp::{Replies, ReplyLimits, ReplyParser, Value, write_request};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    parser: ReplyParser,
    /// The parsed replies of the buffer, and the number of those that have been returned.
    replies: Replies,
    given: usize,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects to a server. `patience` limits connecting and each read and write; `trust` is for TLS. Fails with the
    /// system's error for the last address.
    pub(crate) fn open(address: &Address, trust: &Trust, patience: Option<Duration>) -> io::Result<Self> {
        let stream: Box<dyn Stream> = match address {
            Address::Tcp { host, port, tls: false } => Box::new(connect(host, *port, patience)?),
            Address::Tcp { host, port, tls: true } => {
                Box::new(trust::connect(connect(host, *port, patience)?, host, trust)?)
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let stream = std::os::unix::net::UnixStream::connect(path)?;
                stream.set_read_timeout(patience)?;
                stream.set_write_timeout(patience)?;
                Box::new(stream)
            }
            #[cfg(not(unix))]
            Address::Unix(_) => return Err(io::Error::other("Unix sockets are not supported")),
        };
        let (parser, replies) = (ReplyParser::new(), Replies::new());
        Ok(Connection { stream, parser, replies, given: 0, buffer: Vec::new() })
    }

    /// Sends a request and passes its reply to `read`. Fails by the system, at the connection's end, or for bad bytes.
    pub(crate) fn ask<T>(&mut self, request: &[&[u8]], read: impl FnOnce(Value<'_>) -> T) -> io::Result<T> {
        let mut bytes = Vec::new();
        write_request(request, &mut bytes);
        self.stream.write_all(&bytes)?;
        self.next(read)
    }

    /// Waits for the next reply and passes it to `read`. Fails as [`Connection::ask`].
    pub(crate) fn next<T>(&mut self, read: impl FnOnce(Value<'_>) -> T) -> io::Result<T> {
        while self.given == self.replies.len() {
            self.buffer.drain(..self.replies.consumed());
            self.fill()?;
            self.given = 0;
            let parsed = self.parser.parse(&self.buffer, &ReplyLimits::default(), &mut self.replies);
            parsed.map_err(|error| io::Error::other(error.to_string()))?;
        }
        self.given += 1;
        Ok(read(self.replies.value(self.given - 1, &self.buffer)))
    }

    /// Reads the available bytes, at least one.
    fn fill(&mut self) -> io::Result<()> {
        let mut part = [0; 16 << 10];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(io::Error::other("Server closed the connection")),
                Ok(len) => {
                    self.buffer.extend_from_slice(&part[..len]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends AUTH if there is a password. Returns the server's or system's reason for a failure.
    pub(crate) fn log_in(&mut self, login: &Login) -> Result<(), String> {
        let Some(password) = &login.password else { return Ok(()) };
        match &login.user {
            Some(user) => self.command(&[b"AUTH", user, password]),
            None => self.command(&[b"AUTH", password]),
        }
    }

    /// Sends a command, and ignores its reply unless it is an error. Returns the server's or system's reason for that.
    pub(crate) fn command(&mut self, request: &[&[u8]]) -> Result<(), String> {
        let answered = self.ask(request, |reply| match reply {
            Value::Error(text) | Value::BlobError(text) => Err(String::from_utf8_lossy(text).into_owned()),
            _ => Ok(()),
        });
        answered.map_err(|error| system_reason(&error))?
    }
}

fn connect(host: &str, port: u16, patience: Option<Duration>) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
        Ok(ip) => vec![(ip, port).into()],
        Err(_) => (host, port).to_socket_addrs()?.collect(),
    };
    let mut failed = io::Error::other("the name has no address");
    for address in addresses {
        let connected = match patience {
            Some(patience) => TcpStream::connect_timeout(&address, patience),
            None => TcpStream::connect(address),
        };
        match connected {
            Ok(stream) => {
                stream.set_read_timeout(patience)?;
                stream.set_write_timeout(patience)?;
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
