//! Listening sockets.

use super::busy::Job;
use super::inbox::{Mail, Opening};
use super::shared::Shared;
use crate::engine::Engine;
use crate::engine::config::{BindAddress, Host};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// The server cannot listen.
#[derive(Debug)]
pub enum BindError {
    /// There is no address to listen on.
    Nowhere,
    /// An address cannot be listened on.
    Address {
        /// The address, or a name that cannot be resolved, with the port.
        address: String,
        /// Why not.
        source: io::Error,
    },
}

impl BindError {
    fn address(address: impl fmt::Display, source: io::Error) -> Self {
        BindError::Address { address: address.to_string(), source }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Nowhere => f.write_str("Configured to not listen anywhere, exiting."),
            BindError::Address { address, source } => {
                write!(f, "Could not create server TCP listening socket {address}: {}", describe(source))
            }
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BindError::Nowhere => None,
            BindError::Address { source, .. } => Some(source),
        }
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "bind: Address already in use".to_owned(),
        _ => error.to_string(),
    }
}

/// The listening sockets of a server.
#[derive(Debug)]
pub(crate) struct Listeners {
    sockets: Vec<std::net::TcpListener>,
    port: u16,
}

/// How often port 0 is tried until one port is free on every address.
const TRIES: usize = 32;

impl Listeners {
    /// Listens on each address; port 0 picks one that is free on all of them. An address marked optional is passed
    /// over when the machine does not have it.
    pub(crate) fn bind(addrs: &[BindAddress], port: u16, backlog: i32) -> Result<Self, BindError> {
        let mut tries = TRIES;
        loop {
            match Self::bind_once(addrs, port, backlog) {
                // Another process may hold the picked port on the second address.
                Err(_) if port == 0 && tries > 0 => tries -= 1,
                other => return other,
            }
        }
    }

    fn bind_once(addrs: &[BindAddress], mut port: u16, backlog: i32) -> Result<Self, BindError> {
        let mut sockets = Vec::new();
        for BindAddress { host, optional } in addrs {
            let addr = match host {
                Host::Ip(ip) => SocketAddr::new(*ip, port),
                Host::Name(name) => resolve(name, port)?,
            };
            match listen(addr, backlog) {
                Ok(socket) => {
                    port = socket.local_addr().map_err(|source| BindError::address(addr, source))?.port();
                    sockets.push(socket);
                }
                Err(error) if *optional && lacks_address(&error) => {}
                Err(source) => return Err(BindError::address(addr, source)),
            }
        }
        if sockets.is_empty() {
            return Err(BindError::Nowhere);
        }
        Ok(Listeners { sockets, port })
    }

    /// The port, the same on every address.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Accepts on all of them until the server ends. Must be called within a tokio runtime.
    pub(super) fn serve(self, shared: &Arc<Shared>) -> io::Result<()> {
        for socket in self.sockets {
            let listener = TcpListener::from_std(socket)?;
            tokio::spawn(accept(shared.clone(), listener));
        }
        Ok(())
    }
}

/// The first address that a name stands for.
fn resolve(name: &str, port: u16) -> Result<SocketAddr, BindError> {
    let found = (name, port).to_socket_addrs().map(|mut addrs| addrs.next());
    let found = found.and_then(|addr| addr.ok_or_else(|| io::Error::other("the name has no address")));
    found.map_err(|source| BindError::address(format_args!("{name}:{port}"), source))
}

fn lacks_address(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
        // EAFNOSUPPORT has no kind of its own.
        || error.raw_os_error() == Some(97)
}

fn listen(addr: SocketAddr, backlog: i32) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    if addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A server that is started again right after its predecessor ended gets the port at once. On Windows the option
    // means something else.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())?;
    socket.listen(backlog)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    loop {
        tokio::select! {
            () = shared.ended() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if let Err(error) = welcome(&shared, stream) {
                        tracing::debug!(%error, "a client was gone before it was welcome");
                    }
                }
                Err(error) => {
                    // Out of descriptors, most likely: go on when some may be free again.
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            },
        }
    }
}

/// Gives a client to the loop with the fewest connections; or tells it that there are too many.
fn welcome(shared: &Arc<Shared>, stream: TcpStream) -> io::Result<()> {
    let mut stream = stream.into_std()?;
    let Some(seat) = shared.take_seat() else {
        shared.leave(Job::new(Engine::reject_connection));
        return stream.write_all(b"-ERR max number of clients reached\r\n");
    };
    let opening = Opening::new(stream, seat)?;
    let inbox = shared.inbox(shared.idlest());
    inbox.joined();
    inbox.post(Mail::Open(opening));
    Ok(())
}
