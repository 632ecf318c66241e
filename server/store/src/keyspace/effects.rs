//! What a command's changes cause for other clients.

use super::event::Event;
use super::interests::Interests;
use lockwheel_resp::allocation;
use std::collections::VecDeque;
use std::sync::Arc;

/// A value that an event or a push tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventValue {
    /// A name, a word or a reason, which many pushes may share.
    Text(Arc<[u8]>),
    /// A number.
    Number(i64),
}

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
    /// What a subscriber has asked for, which it cannot do itself.
    FollowUp {
        /// The database of the key.
        db: usize,
        /// The key.
        key: Box<[u8]>,
        /// Its field.
        field: Box<[u8]>,
    },
    /// A message to a channel.
    Publish {
        /// The channel.
        channel: Box<[u8]>,
        /// The message.
        message: Box<[u8]>,
    },
    /// A message to a channel of the server's own, for those who have asked for such ones.
    Announce {
        /// The channel.
        channel: Box<[u8]>,
        /// The message.
        message: Box<[u8]>,
    },
    /// A push to a client, if it speaks RESP3.
    Push {
        /// The client.
        session: u64,
        /// The kind of push.
        kind: &'static str,
        /// Its fields by name, in their order.
        fields: Vec<(&'static str, EventValue)>,
    },
    /// Clients are told that a key which they have read has changed.
    Invalidate {
        /// The clients.
        sessions: Box<[u64]>,
        /// The key; none: all keys are gone.
        key: Option<Box<[u8]>>,
    },
    /// Before the engine waits for more requests, clients are told of keys with their prefixes.
    BroadcastDue,
    /// Replicas are to be told what has changed.
    ReplicationDue,
    /// Who waits under this label has come to hold a key that is waited for, or no longer holds it: its waits are to be
    /// checked once the command, script or transaction has ended.
    HoldChanged {
        /// The database of the key.
        db: usize,
        /// The key.
        key: Box<[u8]>,
        /// The label.
        label: Box<[u8]>,
    },
    /// The first of a client's leases to be renewed is another than before, or there is none any more.
    LeasesChanged {
        /// The client.
        session: u64,
    },
}

/// Adds an event to the effects, if its class is published.
#[inline(always)]
pub(super) fn notify(
    effects: &mut VecDeque<Effect>,
    interests: Interests,
    db: usize,
    key: &[u8],
    event: Event,
) {
    if interests.any(Interests::of_event(event)) {
        push_event(effects, db, key, event);
    }
}

/// Has an event published when the command ends. One of a long name for which there is no memory is left out: the
/// change itself has happened.
#[inline(never)]
pub(super) fn push_event(effects: &mut VecDeque<Effect>, db: usize, key: &[u8], event: Event) {
    match allocation::try_copy(key) {
        Ok(key) => effects.push_back(Effect::Notify { db, event, key }),
        Err(_) => tracing::warn!("There is no memory to publish '{}' of a key with a long name", event.name),
    }
}
