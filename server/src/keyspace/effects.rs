//! What a command's changes cause for others.

use super::event::Event;

/// Something to be delivered when the command, script or transaction ends.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// A keyspace notification.
    Notify {
        /// The database of the key.
        db: usize,
        /// What happened.
        event: Event,
        /// To which key.
        key: Box<[u8]>,
    },
    /// A message to a channel.
    Publish {
        /// The channel.
        channel: Box<[u8]>,
        /// The message.
        message: Box<[u8]>,
    },
}
