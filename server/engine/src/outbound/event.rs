//! Events of a connection to another server.

/// Something that has happened to a connection.
#[derive(Clone, Copy, Debug)]
pub enum OutboundEvent<'a> {
    /// The driver has connected.
    Opened,
    /// Bytes have come, in their order, in pieces of any length.
    Received(&'a [u8]),
    /// The connection could not be opened, or has ended; the name is free again.
    Closed {
        /// The system's reason. Empty: the other side has closed it.
        reason: &'a str,
    },
}
