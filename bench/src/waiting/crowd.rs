//! Many connections in one thread, of which most wait.

use super::wire::{self, Reply};
use crate::incoming::Incoming;
use lockwheel_resp::write_request;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// The time without any message from the server after which the run ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of events taken from the system at once.
const EVENTS: usize = 256;

/// The index of a connection of a crowd.
pub type WaiterIndex = usize;

/// The connections of a crowd.
#[derive(Debug)]
pub struct Crowd {
    poll: Poll,
    events: Events,
    sockets: Vec<Socket>,
    /// Replies that have been read and not yet taken, in the order of reading.
    arrived: VecDeque<(WaiterIndex, Reply)>,
    /// Connections with an event from the system that has not been handled.
    awake: VecDeque<WaiterIndex>,
    /// The connection that is checked before each other connection.
    first: Option<WaiterIndex>,
    requests: u64,
}

#[derive(Debug)]
struct Socket {
    stream: TcpStream,
    outgoing: Vec<u8>,
    incoming: Incoming,
}

impl Crowd {
    /// Opens `count` connections.
    ///
    /// # Errors
    /// Returns an error if the server or the system does not allow that many.
    pub fn connect(address: SocketAddr, count: usize) -> io::Result<Crowd> {
        raise_limit();
        let poll = Poll::new()?;
        let mut sockets = Vec::with_capacity(count);
        for place in 0..count {
            // The connect call blocks, so that the listener's backlog bounds the number of pending connections.
            let stream = std::net::TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(place), Interest::READABLE | Interest::WRITABLE)?;
            sockets.push(Socket { stream, outgoing: Vec::new(), incoming: Incoming::default() });
        }
        Ok(Crowd {
            poll,
            events: Events::with_capacity(EVENTS),
            sockets,
            arrived: VecDeque::new(),
            awake: VecDeque::new(),
            first: None,
            requests: 0,
        })
    }

    /// Returns the number of requests that have been sent.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Sends a request, at once unless the socket is full.
    ///
    /// # Errors
    /// Returns an error if the connection fails.
    pub fn send(&mut self, place: WaiterIndex, arguments: &[&[u8]]) -> io::Result<()> {
        self.requests += 1;
        let socket = &mut self.sockets[place];
        write_request(arguments, &mut socket.outgoing);
        socket.flush()
    }

    /// Makes this connection be checked before each of the others. Its reply ends a measured time. In reality it would
    /// not wait behind all others in one thread.
    pub fn look_first_at(&mut self, place: Option<WaiterIndex>) {
        self.first = place;
    }

    /// Returns the next reply or message of any connection.
    ///
    /// # Errors
    /// Returns an error if a connection fails or ends, or if none gets a message for a minute.
    pub fn hear(&mut self) -> io::Result<(WaiterIndex, Reply)> {
        loop {
            if let Some(arrived) = self.arrived.pop_front() {
                return Ok(arrived);
            }
            if let Some(first) = self.first {
                self.read(first)?;
                if !self.arrived.is_empty() {
                    continue;
                }
            }
            match self.awake.pop_front() {
                Some(place) => {
                    self.sockets[place].flush()?;
                    self.read(place)?;
                }
                None => self.wait()?,
            }
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        match self.poll.poll(&mut self.events, Some(PATIENCE)) {
            Ok(()) if self.events.is_empty() => {
                return Err(io::Error::new(ErrorKind::TimedOut, "the server has been silent for a minute"));
            }
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        self.awake.extend(self.events.iter().map(|event| event.token().0));
        Ok(())
    }

    fn read(&mut self, place: WaiterIndex) -> io::Result<()> {
        let socket = &mut self.sockets[place];
        socket.fill()?;
        while let Some(reply) = wire::take(&mut socket.incoming)? {
            self.arrived.push_back((place, reply));
        }
        Ok(())
    }
}

impl Socket {
    fn flush(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written < self.outgoing.len() {
            match self.stream.write(&self.outgoing[written..]) {
                Ok(length) => written += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.outgoing.drain(..written);
        Ok(())
    }

    /// Reads all available bytes, since the system reports each arrival only once.
    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server hung up")),
                Ok(length) => {
                    self.incoming.append(&chunk[..length]);
                    if length < chunk.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Raises the limit of open files of this process to the maximum that the system allows.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If this is not allowed, connecting fails with the reason.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
