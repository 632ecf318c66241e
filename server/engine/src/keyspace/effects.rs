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
    /// The lease of a lock was turned to its end, which those who wait by Redisson's means cannot know: they count its
    /// time on their own machine.
    LeaseTurned {
        /// The database of the key.
        db: usize,
        /// The lock.
        key: Box<[u8]>,
        /// The mode of a read-write lock.
        mode: Option<Box<[u8]>>,
    },
}
