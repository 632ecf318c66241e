//! One connection to another server, as the engine requests it.

use super::Purpose;

/// The address of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The host name or IP address.
    pub host: Box<str>,
    /// The port.
    pub port: u16,
}

/// An action of the driver for a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// Connect without waiting for the result.
    Connect(Endpoint),
    /// Send these bytes.
    Send(Vec<u8>),
    /// Close the connection, after sending as much of the remaining bytes as the other end accepts at once.
    Close,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The driver has not taken the request to connect yet.
    Wanted(Endpoint),
    Connecting,
    Open,
    /// The engine has ended the connection.
    Ended,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) purpose: Purpose,
    state: State,
    /// The bytes to send.
    output: Vec<u8>,
    /// The local address, once the connection is open.
    pub(super) local_ip: Option<Box<str>>,
}

impl Connection {
    pub(super) fn new(endpoint: Endpoint, purpose: Purpose) -> Self {
        Connection { purpose, state: State::Wanted(endpoint), output: Vec::new(), local_ip: None }
    }

    pub(super) fn wanted(&self) -> Option<&Endpoint> {
        if let State::Wanted(endpoint) = &self.state { Some(endpoint) } else { None }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Appends bytes to send. Returns whether the driver must be notified.
    pub(super) fn append(&mut self, bytes: &[u8]) -> bool {
        if self.has_ended() {
            return false;
        }
        let was_empty = self.output.is_empty();
        self.output.extend_from_slice(bytes);
        was_empty && !bytes.is_empty() && self.state == State::Open
    }

    /// Ends the connection. Returns whether the driver must be notified.
    pub(super) fn end(&mut self) -> bool {
        if self.state != State::Open {
            self.output.clear();
        }
        std::mem::replace(&mut self.state, State::Ended) != State::Ended
    }

    /// Records that the connection is open. Returns whether there are bytes to send.
    pub(super) fn open(&mut self) -> bool {
        if self.state == State::Connecting {
            self.state = State::Open;
        }
        self.state == State::Open && !self.output.is_empty()
    }

    /// Takes the driver's next action.
    pub(super) fn take(&mut self) -> Option<Outgoing> {
        if matches!(self.state, State::Open | State::Ended) && !self.output.is_empty() {
            return Some(Outgoing::Send(std::mem::take(&mut self.output)));
        }
        match &self.state {
            State::Wanted(_) => {
                let State::Wanted(endpoint) = std::mem::replace(&mut self.state, State::Connecting) else {
                    return None;
                };
                Some(Outgoing::Connect(endpoint))
            }
            State::Ended => Some(Outgoing::Close),
            State::Connecting | State::Open => None,
        }
    }
}
