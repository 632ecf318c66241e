//! One connection to another server, as the engine wants it.

use super::Purpose;

/// Where another server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its name or address.
    pub host: Box<str>,
    /// Its port.
    pub port: u16,
}

/// What is to be done for a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// Connect, without waiting for it.
    Connect(Endpoint),
    /// Send these bytes.
    Send(Vec<u8>),
    /// Close it, when as much of what was to be sent has gone as the other end takes at once.
    Close,
}

/// How far a connection is.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The driver does not know of it yet.
    Wanted(Endpoint),
    /// The driver connects.
    Connecting,
    /// Bytes go over it.
    Open,
    /// The engine does not want it any more.
    Ended,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) purpose: Purpose,
    state: State,
    /// What is to be sent.
    output: Vec<u8>,
    /// The address at this end, once it is open.
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

    /// Whether the driver has to be told.
    pub(super) fn append(&mut self, bytes: &[u8]) -> bool {
        if self.has_ended() {
            return false;
        }
        let was_empty = self.output.is_empty();
        self.output.extend_from_slice(bytes);
        was_empty && !bytes.is_empty() && self.state == State::Open
    }

    /// Whether the driver has to be told.
    pub(super) fn end(&mut self) -> bool {
        if self.state != State::Open {
            self.output.clear();
        }
        std::mem::replace(&mut self.state, State::Ended) != State::Ended
    }

    /// Whether there is something to be sent.
    pub(super) fn open(&mut self) -> bool {
        if self.state == State::Connecting {
            self.state = State::Open;
        }
        self.state == State::Open && !self.output.is_empty()
    }

    /// What the driver has to do next.
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
