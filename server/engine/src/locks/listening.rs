//! Commands on locks that see the subscribers of channels: Redisson's clients wait by a subscription.

use crate::pubsub::PubSub;
use crate::spec::{Args, Outcome};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;

/// The handler of a command that sees keys and the subscriptions of channels.
pub(crate) type ListeningHandler = fn(&mut Tx<'_>, &PubSub, Args<'_>, &mut dyn Reply) -> Outcome;
