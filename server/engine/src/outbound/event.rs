//! Events of a connection to another server.

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
pub enum OutboundEvent<'a> {
    /// The driver has connected.
    Opened,
    /// Bytes have been received. They are in order, in pieces of any length.
    Received(&'a [u8]),
    /// The connection could not be opened, or has ended. Its id is free again.
    Closed {
        /// The error text of the system. Empty if the other side has closed the connection.
        reason: &'a str,
    },
}
