//! Another server, to which a command talks through the host.

use std::time::Duration;

/// Where another server listens, and how long each wait for it may take.
#[derive(Clone, Copy, Debug)]
pub struct TargetAddress<'a> {
    /// A name or an address, as the client has given it.
    pub host: &'a [u8],
    /// Its port.
    pub port: u16,
    /// The longest time that connecting takes, and then each part that is sent and each line that is received.
    pub timeout: Duration,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotConnected {
    /// There is no such address, or nobody has answered in time.
    Unreachable,
    /// The other side has refused.
    Refused,
}

/// A connection has ended, or the time for a part or a line was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// A connection to another server, closed when it is dropped. The caller waits in each call.
pub trait Target {
    /// Sends bytes, in parts of 64 KiB with the time limit for each.
    ///
    /// # Errors
    /// When not all of them can be sent.
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken>;

    /// Receives a line within the time limit, without its end; of a long one the beginning, up to 1023 bytes.
    ///
    /// # Errors
    /// When no whole line comes.
    fn receive_line(&mut self) -> Result<Vec<u8>, Broken>;
}
