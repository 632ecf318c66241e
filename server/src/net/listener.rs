//! Listening sockets: their addresses, and the sockets themselves.

use lockwheel_engine::config::{BindAddress, Config, Host, system_reason};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

#[cfg(unix)]
use super::socket_file::SocketFile;
use super::tls::TlsContext;
use super::tls_error::TlsError;

/// An error that keeps the server from listening.
#[derive(Debug)]
pub enum BindError {
    /// There is no address to listen on.
    Nowhere,
    /// The server cannot listen on an address.
    Address {
        /// The address, or a name that cannot be resolved, with the port.
        address: String,
        /// The configured port.
        port: u16,
        /// Whether clients were to connect there over TLS.
        tls: bool,
        /// The error of the system.
        source: io::Error,
    },
    /// Connections over TLS are not possible.
    Tls(TlsError),
    /// The server cannot listen on the unix socket.
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
            BindError::Address { address, source, .. } => {
                write!(f, "Could not create server TCP listening socket {address}: {}", describe(source))
            }
            BindError::Tls(error) => error.fmt(f),
            BindError::UnixSocket(source) => write!(f, "Failed opening Unix socket: {}", describe(source)),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BindError::Nowhere => None,
            BindError::Tls(error) => Some(error),
            BindError::Address { source, .. } | BindError::UnixSocket(source) => Some(source),
        }
    }
}

/// Words the system's reason like Redis; other reasons are whole sentences already.
fn describe(error: &io::Error) -> String {
    let reason = system_reason(error);
    if error.raw_os_error().is_some() { format!("bind: {reason}") } else { reason }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) addresses: Vec<BindAddress>,
    /// The port, the same on every address. 0 picks a port that is free on all of them.
    pub(super) port: u16,
    tls: bool,
    pub(super) backlog: i32,
}

impl Endpoints {
    /// Returns the addresses for plain clients. With a unix socket or TLS, port 0 means none, as in Redis, except with
    /// a port file.
    pub(super) fn tcp(config: &Config) -> Self {
        let has_others = !config.unixsocket.is_empty() || config.tls.is_on();
        let is_on = config.port != 0 || !has_others || !config.port_file.is_empty();
        Self::at(config, Some(config.port).filter(|_| is_on), false)
    }

    pub(super) fn tls(config: &Config) -> Self {
        let port = config.tls.port.unwrap_or(0);
        Self::at(config, Some(port).filter(|_| config.tls.is_on()), true)
    }

    /// Returns the addresses with this port; no addresses if there is no port.
    pub(super) fn at(config: &Config, port: Option<u16>, tls: bool) -> Self {
        let addresses = if port.is_some() { config.bind_addresses() } else { Vec::new() };
        Endpoints { addresses, port: port.unwrap_or(0), tls, backlog: config.tcp_backlog }
    }

    /// Listens on each address. An optional address is skipped if the machine does not have it.
    pub(super) fn listen(&self) -> Result<Vec<TcpListener>, BindError> {
        /// The number of attempts to find a port that is free on every address.
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
            let failed = |source| BindError::Address {
                address: format!("{address}:{}", self.port),
                port: self.port,
                tls: self.tls,
                source,
            };
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

#[derive(Debug)]
pub(super) struct Listening {
    /// The addresses, with the port that was picked.
    pub(super) endpoints: Endpoints,
    pub(super) sockets: Vec<TcpListener>,
}

impl Listening {
    fn at(endpoints: Endpoints) -> Result<Self, BindError> {
        let sockets = endpoints.listen()?;
        let first = sockets.first().and_then(|socket| socket.local_addr().ok());
        let port = first.map_or(0, |address| address.port());
        Ok(Listening { endpoints: Endpoints { port, ..endpoints }, sockets })
    }
}

#[derive(Debug)]
pub(crate) struct Listeners {
    pub(super) tcp: Listening,
    pub(super) tls: Listening,
    pub(super) tls_context: Option<TlsContext>,
    #[cfg(unix)]
    pub(super) unix: Option<(std::os::unix::net::UnixListener, String)>,
    #[cfg(unix)]
    file: Option<SocketFile>,
}

impl Listeners {
    pub(crate) fn bind(config: &Config) -> Result<Self, BindError> {
        let tls_context = config.tls.is_on().then(|| TlsContext::load(&config.tls));
        let tls_context = tls_context.transpose().map_err(BindError::Tls)?;
        let tcp = Listening::at(Endpoints::tcp(config))?;
        let tls = Listening::at(Endpoints::tls(config))?;
        #[cfg(unix)]
        let (unix, file) = super::socket_file::listen(config).map_err(BindError::UnixSocket)?.unzip();
        let somewhere = !tcp.sockets.is_empty() || !tls.sockets.is_empty();
        #[cfg(unix)]
        let somewhere = somewhere || file.is_some();
        let listeners = Listeners {
            tcp,
            tls,
            tls_context,
            #[cfg(unix)]
            unix: unix.map(|socket| (socket, config.unixsocket.clone())),
            #[cfg(unix)]
            file,
        };
        if somewhere { Ok(listeners) } else { Err(BindError::Nowhere) }
    }

    #[cfg(unix)]
    pub(crate) fn take_file(&mut self) -> Option<SocketFile> {
        self.file.take()
    }

    pub(crate) fn port(&self) -> u16 {
        self.tcp.endpoints.port
    }

    pub(crate) fn tls_port(&self) -> Option<u16> {
        Some(self.tls.endpoints.port).filter(|&port| port != 0)
    }
}

/// Returns the first address that a name resolves to.
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
    let socket = socket_for(addr)?;
    socket.bind(&addr.into())?;
    socket.listen(backlog)?;
    Ok(socket.into())
}

/// Creates a nonblocking socket that can be bound to an address.
pub(super) fn socket_for(addr: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    if addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // A restarted server gets the port of its predecessor at once. On Windows the option has another meaning.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
