//! Another server, to which a command connects through the host.

use std::time::Duration;

/// The address of another server, and the time limit of each wait for it.
#[derive(Clone, Copy, Debug)]
pub struct TargetAddress<'a> {
    /// A host name or an address, as the client has given it.
    pub host: &'a [u8],
    /// The port.
    pub port: u16,
    /// The time limit for connecting, then for each sent part and for each received line.
    pub timeout: Duration,
}

/// The reason why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotConnected {
    /// The address does not exist, or the connection has timed out.
    Unreachable,
    /// The other side has refused the connection.
    Refused,
}

/// The error of a connection that has ended or timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// A connection to another server, closed on drop. Each call blocks.
pub trait Target {
    /// Sends bytes in parts of 64 KiB, each within the time limit.
    ///
    /// # Errors
    /// Returns an error if not all bytes can be sent.
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken>;

    /// Receives a line within the time limit, without its end. A long line is truncated to 1023 bytes.
    ///
    /// # Errors
    /// Returns an error if no complete line arrives.
    fn receive_line(&mut self) -> Result<Vec<u8>, Broken>;
}
