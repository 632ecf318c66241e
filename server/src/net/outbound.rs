//! Connections to other servers, on a thread that starts with the first of them. The engine says what to do
//! ([`Outgoing`]); received data enters it as a separate batch.

use super::contain::contained;
use super::outbound_inbox::MESSAGES;
use super::shared::Shared;
use lockwheel_engine::config::system_reason;
use lockwheel_engine::outbound::{Endpoint, OutboundEvent, OutboundId, Outgoing};
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

const READ: usize = 64 * 1024;
/// The number of reads from one connection before the other connections are read.
const READS: usize = 16;
const EVENTS: usize = 64;

/// Starts the thread that serves these connections, unless the server has ended.
pub(super) fn start(shared: &Weak<Shared>, poll: Poll) -> io::Result<()> {
    let Some(shared) = shared.upgrade() else { return Ok(()) };
    let guard = shared.shutdown.thread();
    let serve = move || {
        let _guard = guard;
        serve(&shared, poll);
    };
    thread::Builder::new().name("lockwheel-link".to_owned()).spawn(serve).map(drop)
}

/// Begins to connect to `address`. The local address is `source`, unless that is empty.
fn connect(source: &str, address: SocketAddr) -> io::Result<TcpStream> {
    if source.is_empty() {
        return TcpStream::connect(address);
    }
    let from = (source, 0).to_socket_addrs()?.find(|from| from.is_ipv4() == address.is_ipv4());
    let from = from.ok_or(ErrorKind::AddrNotAvailable)?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.bind(&from.into())?;
    match socket.connect(&address.into()) {
        // The poll reports the end of the connection attempt.
        Err(error) if !is_on_the_way(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

/// Whether the error means that a nonblocking socket is still connecting.
fn is_on_the_way(error: &io::Error) -> bool {
    #[cfg(unix)]
    let in_progress = rustix::io::Errno::INPROGRESS.raw_os_error();
    #[cfg(unix)]
    if error.raw_os_error() == Some(in_progress) {
        return true;
    }
    error.kind() == ErrorKind::WouldBlock
}

struct Link {
    stream: TcpStream,
    is_open: bool,
    unsent: Vec<u8>,
}

fn serve(shared: &Arc<Shared>, poll: Poll) {
    let mut links = Links { shared, poll, open: HashMap::new(), buffer: vec![0; READ], unread: Vec::new() };
    let mut events = Events::with_capacity(EVENTS);
    while !shared.shutdown.is_requested() {
        match links.poll.poll(&mut events, links.timeout()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return tracing::error!(%error, "waiting for other servers failed"),
        }
        let unread = std::mem::take(&mut links.unread);
        for event in &events {
            contained("a connection to another server", || links.handle(event));
        }
        for id in unread {
            contained("a connection to another server", || links.go_on(id));
        }
    }
}

struct Links<'a> {
    shared: &'a Arc<Shared>,
    poll: Poll,
    open: HashMap<OutboundId, Link>,
    buffer: Vec<u8>,
    /// Connections that may have more to read.
    unread: Vec<OutboundId>,
}

impl Links<'_> {
    fn handle(&mut self, event: &Event) {
        if event.token() == MESSAGES {
            return self.shared.outbound.take().into_iter().for_each(|id| self.look_at(id));
        }
        self.go_on(OutboundId(event.token().0 as u64));
    }

    fn go_on(&mut self, id: OutboundId) {
        if let Err(reason) = self.ready(id) {
            self.closed(id, &reason);
        }
    }

    fn timeout(&self) -> Option<Duration> {
        (!self.unread.is_empty()).then_some(Duration::ZERO)
    }

    fn look_at(&mut self, id: OutboundId) {
        while let Some(outgoing) = self.shared.with_engine(|engine| engine.outbound_mut().take(id)) {
            let done = match outgoing {
                Outgoing::Connect(endpoint) => self.connect(id, &endpoint),
                Outgoing::Send(bytes) => self.send(id, &bytes),
                // Output that the system has not taken by now is discarded: its peer does not read.
                Outgoing::Close => return drop(self.open.remove(&id)),
            };
            if let Err(error) = done {
                return self.closed(id, &system_reason(&error));
            }
        }
    }

    fn connect(&mut self, id: OutboundId, endpoint: &Endpoint) -> io::Result<()> {
        let mut addresses = (&*endpoint.host, endpoint.port).to_socket_addrs()?;
        let address = addresses.next().ok_or(ErrorKind::NotFound)?;
        let source = self.shared.with_engine(|engine| engine.config.replication.source_address.clone());
        let mut stream = connect(&source, address)?;
        let interests = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(id.0 as usize), interests)?;
        self.open.insert(id, Link { stream, is_open: false, unsent: Vec::new() });
        Ok(())
    }

    fn send(&mut self, id: OutboundId, bytes: &[u8]) -> io::Result<()> {
        let Some(link) = self.open.get_mut(&id) else { return Ok(()) };
        link.unsent.extend_from_slice(bytes);
        link.flush()
    }

    /// Reports that a connection has ended by itself.
    fn closed(&mut self, id: OutboundId, reason: &str) {
        self.open.remove(&id);
        self.shared.with_engine(|engine| engine.outbound_event(id, OutboundEvent::Closed { reason }));
    }

    /// Handles a ready socket. An error is the reason why the connection has ended.
    fn ready(&mut self, id: OutboundId) -> Result<(), String> {
        let Some(link) = self.open.get_mut(&id) else { return Ok(()) };
        if !link.is_open {
            if !link.has_opened().map_err(|error| system_reason(&error))? {
                return Ok(());
            }
            let local = link.stream.local_addr().map(|address| address.ip().to_string());
            self.shared.with_engine(|engine| {
                local.iter().for_each(|ip| engine.outbound_mut().set_local_ip(id, ip));
                engine.outbound_event(id, OutboundEvent::Opened);
            });
        }
        link.flush().map_err(|error| system_reason(&error))?;
        self.read_some(id)
    }

    /// Reads the available input up to a limit, so that others need not wait long. The rest is read in the next turn.
    fn read_some(&mut self, id: OutboundId) -> Result<(), String> {
        for _ in 0..READS {
            let Some(link) = self.open.get_mut(&id) else { return Ok(()) };
            match link.stream.read(&mut self.buffer) {
                Ok(0) => return Err(String::new()),
                Ok(read) => {
                    let bytes = &self.buffer[..read];
                    self.shared
                        .with_engine(|engine| engine.outbound_event(id, OutboundEvent::Received(bytes)));
                    if self.shared.shutdown.is_requested() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(system_reason(&error)),
            }
        }
        self.unread.push(id);
        Ok(())
    }
}

impl Link {
    fn has_opened(&mut self) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        match self.stream.peer_addr() {
            Ok(_) => {
                self.stream.set_nodelay(true)?;
                self.is_open = true;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut sent = 0;
        while self.is_open && sent < self.unsent.len() {
            match self.stream.write(&self.unsent[sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => sent += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.unsent.drain(..sent);
        Ok(())
    }
}
