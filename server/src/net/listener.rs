//! Listening sockets: their addresses, and the sockets themselves.

use lockwheel_engine::config::{BindAddress, Config, Host, system_reason};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

#[cfg(unix)]
use super::socket_file::SocketFile;

/// Why the server cannot listen.
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
    /// The unix socket cannot be listened on; why not.
    UnixSocket(io::Error),
}

impl BindError {
    /// Whether another socket has the address.
    pub(super) fn is_in_use(&self) -> bool {
        matches!(self, BindError::Address { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Nowhere => f.write_str("Configured to not listen anywhere, exiting."),
            BindError::Address { address, source } => {
                write!(f, "Could not create server TCP listening socket {address}: {}", describe(source))
            }
            BindError::UnixSocket(source) => write!(f, "Failed opening Unix socket: {}", describe(source)),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BindError::Nowhere => None,
            BindError::Address { source, .. } | BindError::UnixSocket(source) => Some(source),
        }
    }
}

/// The system's reason, worded like Redis; other reasons are whole sentences already.
fn describe(error: &io::Error) -> String {
    let reason = system_reason(error);
    if error.raw_os_error().is_some() { format!("bind: {reason}") } else { reason }
}

/// Addresses to listen on for network clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoints {
    pub(crate) addresses: Vec<BindAddress>,
    /// The port, the same on every address; 0: one that is free on all of them.
    pub(crate) port: u16,
    pub(crate) backlog: i32,
}

impl Endpoints {
    /// The addresses that `config` asks for. With a unix socket port 0 means no network, as in Redis, unless a port
    /// file is asked for.
    pub(crate) fn of(config: &Config) -> Self {
        let file_only = config.port == 0 && !config.unixsocket.is_empty() && config.port_file.is_empty();
        let addresses = if file_only { Vec::new() } else { config.bind_addresses() };
        Endpoints { addresses, port: config.port, backlog: config.tcp_backlog }
    }

    /// Listens on each address. An optional one is skipped when the machine does not have it.
    pub(super) fn listen(&self) -> Result<Vec<TcpListener>, BindError> {
        /// How often port 0 is tried until one port is free on every address.
        const TRIES: usize = 32;
        let mut tries = TRIES;
        loop {
            match self.listen_once() {
                // Another process may hold the picked port on the second address.
                Err(_) if self.port == 0 && tries > 0 => tries -= 1,
                other => return other,
            }
        }
    }

    fn listen_once(&self) -> Result<Vec<TcpListener>, BindError> {
        let mut sockets = Vec::new();
        let mut port = self.port;
        for address in &self.addresses {
            let failed = |source| BindError::Address { address: format!("{address}:{}", self.port), source };
            let resolved = match &address.host {
                Host::Ip(ip) => SocketAddr::new(*ip, port),
                Host::Name(name) => resolve(name, port).map_err(failed)?,
            };
            match listen(resolved, self.backlog) {
                Ok(socket) => {
                    port = socket.local_addr().map_err(failed)?.port();
                    sockets.push(socket);
                }
                Err(error) if address.optional && lacks_address(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(sockets)
    }
}

/// The listening sockets of a server.
#[derive(Debug)]
pub(crate) struct Listeners {
    pub(super) tcp: Vec<TcpListener>,
    #[cfg(unix)]
    pub(super) unix: Option<(std::os::unix::net::UnixListener, String)>,
    #[cfg(unix)]
    file: Option<SocketFile>,
}

impl Listeners {
    /// Listens on each address and on the unix socket.
    pub(crate) fn bind(config: &Config) -> Result<Self, BindError> {
        let tcp = Endpoints::of(config).listen()?;
        #[cfg(unix)]
        let (unix, file) = super::socket_file::listen(config).map_err(BindError::UnixSocket)?.unzip();
        #[cfg(unix)]
        let somewhere = !tcp.is_empty() || file.is_some();
        #[cfg(not(unix))]
        let somewhere = !tcp.is_empty();
        let listeners = Listeners {
            tcp,
            #[cfg(unix)]
            unix: unix.map(|socket| (socket, config.unixsocket.clone())),
            #[cfg(unix)]
            file,
        };
        if somewhere { Ok(listeners) } else { Err(BindError::Nowhere) }
    }

    /// The file of the unix socket, to be dropped when accepting has ended.
    #[cfg(unix)]
    pub(crate) fn take_file(&mut self) -> Option<SocketFile> {
        self.file.take()
    }

    /// The port, the same on every address; 0 when none is listened on.
    pub(crate) fn port(&self) -> u16 {
        let first = self.tcp.first().and_then(|socket| socket.local_addr().ok());
        first.map_or(0, |address| address.port())
    }
}

/// The first address that a name resolves to.
fn resolve(name: &str, port: u16) -> io::Result<SocketAddr> {
    let found = (name, port).to_socket_addrs().map(|mut addrs| addrs.next());
    found.and_then(|addr| addr.ok_or_else(|| io::Error::other("the name has no address")))
}

fn lacks_address(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
        // EAFNOSUPPORT has no `ErrorKind`.
        || error.raw_os_error() == Some(97)
}

fn listen(addr: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    if addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A server that is restarted right after its predecessor ended gets the port at once. On Windows the option means
    // something else.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())?;
    socket.listen(backlog)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
