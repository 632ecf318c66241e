//! Effects of a command's changes on other clients.

use super::event::Event;
use super::interests::Interests;
use lockwheel_resp::allocation;
use std::collections::VecDeque;
use std::sync::Arc;

/// The value of a field of an event or a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventValue {
    /// A name, a word or a reason, which many pushes may share.
    Text(Arc<[u8]>),
    /// A number.
    Number(i64),
}

/// An effect to be delivered when the command, script or transaction ends.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// A keyspace notification.
    Notify {
        /// The database of the key.
        db: usize,
        /// The event.
        event: Event,
        /// The key that it happened to.
        key: Box<[u8]>,
    },
    /// Follow-up work that a subscriber has asked for because it cannot do the work itself.
    FollowUp {
        /// The database of the key.
        db: usize,
        /// The key.
        key: Box<[u8]>,
        /// The field of the key.
        field: Box<[u8]>,
    },
    /// A message to a channel.
    Publish {
        /// The channel.
        channel: Box<[u8]>,
        /// The message.
        message: Box<[u8]>,
    },
    /// A message to a channel of the server's own, for the clients that have subscribed to it.
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
        /// The fields by name, in order.
        fields: Vec<(&'static str, EventValue)>,
    },
    /// The invalidation of a key that clients have read and may have cached.
    Invalidate {
        /// The clients.
        sessions: Box<[u64]>,
        /// The key. `None`: all keys are gone.
        key: Option<Box<[u8]>>,
    },
    /// Invalidations by prefix (BCAST) are due: they are sent before the engine waits for more requests.
    BroadcastDue,
    /// A client with this label has come to hold a waited-for key, or no longer holds it. The waits of the label are to
    /// be checked once the command, script or transaction has ended.
    HoldChanged {
        /// The database of the key.
        db: usize,
        /// The key.
        key: Box<[u8]>,
        /// The label.
        label: Box<[u8]>,
    },
    /// The next of a client's leases to be renewed has changed, or the client has no more leases.
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

/// Has an event published when the command ends, unless memory for a long name is short: the change stands.
#[inline(never)]
pub(super) fn push_event(effects: &mut VecDeque<Effect>, db: usize, key: &[u8], event: Event) {
    match allocation::try_copy(key) {
        Ok(key) => effects.push_back(Effect::Notify { db, event, key }),
        Err(_) => tracing::warn!("Out of memory to publish '{}' of a key with a long name", event.name),
    }
}
