//! A blocking connection for the setup of a measurement, queries of the server, and events.

use super::wire::{self, Reply};
use crate::incoming::Incoming;
use lockwheel_resp::write_request;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest wait for a reply. A server that hangs ends the run. FLUSHALL of millions of keys takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of requests that a loading pipeline keeps in flight.
const WINDOW: usize = 64;

/// A connection that sends a request and waits for its reply.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    outgoing: Vec<u8>,
    incoming: Incoming,
}

impl Client {
    /// Connects to a server.
    ///
    /// # Errors
    /// Returns an error if no server listens there.
    pub fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Client { stream, outgoing: Vec::new(), incoming: Incoming::default() })
    }

    /// Sends a request and returns its reply.
    ///
    /// # Errors
    /// Returns an error if the connection fails or the reply is an error.
    pub fn call(&mut self, arguments: &[&[u8]]) -> io::Result<Reply> {
        self.push(arguments);
        self.flush()?;
        match self.receive()? {
            Some(Reply::Error(text)) => Err(refused(arguments, &text)),
            Some(reply) => Ok(reply),
            None => Err(io::Error::new(io::ErrorKind::TimedOut, "no reply")),
        }
    }

    /// Sends `count` requests in a pipeline and checks that no reply is an error. `request` gets a buffer and the
    /// number of the request, and appends the request.
    ///
    /// # Errors
    /// Returns an error if the connection fails or a reply is an error.
    pub fn load(&mut self, count: usize, mut request: impl FnMut(&mut Vec<u8>, usize)) -> io::Result<()> {
        for begin in (0..count).step_by(WINDOW) {
            let end = (begin + WINDOW).min(count);
            for number in begin..end {
                request(&mut self.outgoing, number);
            }
            self.flush()?;
            for number in begin..end {
                match self.receive()? {
                    Some(Reply::Error(text)) => {
                        let text = text.escape_ascii();
                        return Err(io::Error::other(format!("request {number} was answered `{text}`")));
                    }
                    Some(_) => {}
                    None => return Err(io::Error::new(io::ErrorKind::TimedOut, "no reply while loading")),
                }
            }
        }
        Ok(())
    }

    /// Appends a request to the buffer of the next `flush`.
    pub fn push(&mut self, arguments: &[&[u8]]) {
        write_request(arguments, &mut self.outgoing);
    }

    /// Sends the buffered requests.
    ///
    /// # Errors
    /// Returns an error if the connection fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    /// Returns the next reply or message; `None` if none arrives within the patience.
    ///
    /// # Errors
    /// Returns an error if the connection fails or ends.
    pub fn receive(&mut self) -> io::Result<Option<Reply>> {
        loop {
            if let Some(reply) = self.received()? {
                return Ok(Some(reply));
            }
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server hung up")),
                Ok(length) => self.incoming.append(&chunk[..length]),
                Err(error) if is_timeout(&error) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns a reply that has been received already, if any.
    ///
    /// # Errors
    /// Returns an error if the received bytes are not RESP2.
    pub fn received(&mut self) -> io::Result<Option<Reply>> {
        wire::take(&mut self.incoming)
    }

    /// Limits the wait of `receive` to this time.
    ///
    /// # Errors
    /// Returns an error if the time is zero.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(patience))
    }

    /// Returns the number in one line of a section of INFO, such as `blocked_clients`.
    ///
    /// # Errors
    /// Returns an error if there is no such line.
    pub fn info(&mut self, section: &str, field: &str) -> io::Result<u64> {
        let reply = self.call(&[b"INFO", section.as_bytes()])?;
        let text = String::from_utf8_lossy(reply.text().unwrap_or_default()).into_owned();
        let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value
            .and_then(|value| value.trim().parse().ok())
            .ok_or_else(|| io::Error::other(format!("INFO {section} says nothing of {field}")))
    }

    /// Returns the number of commands that the server has run, including those of scripts. The INFO requests of this
    /// function are left out.
    ///
    /// # Errors
    /// Returns an error if the server does not report it.
    pub fn commands_run(&mut self) -> io::Result<u64> {
        let reply = self.call(&[b"INFO", b"commandstats"])?;
        let text = String::from_utf8_lossy(reply.text().unwrap_or_default()).into_owned();
        let others = text.lines().filter(|line| !line.starts_with("cmdstat_info:"));
        let calls =
            others.filter_map(|line| line.split_once(":calls=")?.1.split(',').next()?.parse::<u64>().ok());
        Ok(calls.sum())
    }
}

/// Whether a read ended because of its timeout.
fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn refused(arguments: &[&[u8]], text: &[u8]) -> io::Error {
    let name = arguments.first().copied().unwrap_or_default().escape_ascii();
    io::Error::other(format!("{name} was answered `{}`", text.escape_ascii()))
}
