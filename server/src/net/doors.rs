//! The addresses of listening sockets, which the server keeps even while the system refuses connections there.

use super::listener::socket_for;
use socket2::{SockRef, Socket};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener};

/// The addresses at which network clients of one kind are accepted or refused.
#[derive(Debug, Default)]
pub(super) struct Doors {
    doors: Vec<Door>,
    backlog: i32,
    are_closed: bool,
}

#[derive(Debug)]
struct Door {
    address: SocketAddr,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The socket listens. It is a copy of the socket from which connections are accepted.
    Open(TcpListener),
    /// The socket is bound but does not listen. No other process can get the port.
    Closed(Socket),
    /// The system has refused both to listen and to bind.
    Without,
}

impl Doors {
    pub(super) fn of(sockets: &[TcpListener], backlog: i32) -> Self {
        let door = |socket: &TcpListener| {
            let state = socket.try_clone().map_or(State::Without, State::Open);
            Some(Door { address: socket.local_addr().ok()?, state })
        };
        Doors { doors: sockets.iter().filter_map(door).collect(), backlog, are_closed: false }
    }

    pub(super) fn are_closed(&self) -> bool {
        self.are_closed
    }

    pub(super) fn backlog(&self) -> i32 {
        self.backlog
    }

    /// Lets the system refuse connections, and reset those that wait to be accepted. If it cannot stop listening, that
    /// happens when all copies of the sockets are closed.
    pub(super) fn close(&mut self) {
        self.are_closed = true;
        for door in &mut self.doors {
            if let State::Open(socket) = &door.state {
                let kept = keep(socket, door.address);
                // Not every system supports this for a listening socket.
                let _refused = SockRef::from(socket).shutdown(Shutdown::Read);
                door.state = kept.map_or(State::Without, State::Closed);
            }
        }
    }

    /// Listens again. Returns the sockets to accept from; an address that fails is logged and left out.
    pub(super) fn open(&mut self) -> Vec<TcpListener> {
        self.are_closed = false;
        let mut sockets = Vec::new();
        for door in &mut self.doors {
            match listen_again(std::mem::replace(&mut door.state, State::Without), door.address, self.backlog)
            {
                Ok(socket) => {
                    door.state = socket.try_clone().map_or(State::Without, State::Open);
                    sockets.push(socket);
                }
                Err(error) => tracing::error!(%error, address = %door.address, "cannot listen again"),
            }
        }
        sockets
    }
}

/// Binds a new socket to the address of a listening one.
#[cfg(unix)]
fn keep(listening: &TcpListener, address: SocketAddr) -> io::Result<Socket> {
    let (listening, socket) = (SockRef::from(listening), socket_for(address)?);
    // Two sockets may share an address only while both ask for that.
    listening.set_reuse_port(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    socket.set_reuse_port(false)?;
    // The address is also denied to a process that asks to reuse an address whose connections are still ending.
    socket.set_reuse_address(false)?;
    Ok(socket)
}

/// Keeps no port, because this system cannot.
#[cfg(not(unix))]
fn keep(_: &TcpListener, _: SocketAddr) -> io::Result<Socket> {
    Err(io::ErrorKind::Unsupported.into())
}

fn listen_again(state: State, address: SocketAddr, backlog: i32) -> io::Result<TcpListener> {
    let socket = match state {
        State::Open(socket) => return Ok(socket),
        State::Closed(socket) => {
            #[cfg(unix)]
            socket.set_reuse_address(true)?;
            socket
        }
        State::Without => {
            let socket = socket_for(address)?;
            socket.bind(&address.into())?;
            socket
        }
    };
    socket.listen(backlog)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::super::listener::Endpoints;
    use super::*;
    use lockwheel_engine::config::Config;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};

    fn listening() -> Vec<TcpListener> {
        Endpoints::at(&Config::default(), Some(0), false).listen().expect("it can listen")
    }

    #[test]
    fn closed_doors_refuse_and_keep_the_port() {
        let mut sockets = listening();
        let addresses: Vec<SocketAddr> =
            sockets.iter().map(|socket| socket.local_addr().expect("it has one")).collect();
        let wildcard = |address: &SocketAddr| match address {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port())),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, address.port())),
        };
        let mut doors = Doors::of(&sockets, 16);
        // Connections that exempt clients keep. They do not hinder the server.
        let mut kept = Vec::new();
        for _ in 0..3 {
            for (address, socket) in addresses.iter().zip(&sockets) {
                kept.push(TcpStream::connect(address).expect("it listens"));
                socket.set_nonblocking(false).expect("it can");
                kept.push(socket.accept().expect("there is one").0);
            }
            doors.close();
            drop(std::mem::take(&mut sockets));
            for address in &addresses {
                let refused = TcpStream::connect(address).expect_err("nobody listens");
                assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
                // Both listeners ask to reuse the address, as any Rust program does.
                for taken in [*address, wildcard(address)] {
                    let refused = TcpListener::bind(taken).expect_err("it is kept");
                    assert_eq!(refused.kind(), io::ErrorKind::AddrInUse, "{taken}");
                }
            }
            sockets = doors.open();
            assert_eq!(sockets.len(), addresses.len());
        }
    }
}
