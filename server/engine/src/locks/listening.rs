//! Commands on locks that see who listens to which channel: Redisson's clients wait so.

use crate::keyspace::Tx;
use crate::pubsub::PubSub;
use crate::spec::{Args, Outcome};
use lockwheel_resp::Reply;

/// The handler of a command that sees keys and the subscriptions of channels.
pub(crate) type ListeningHandler = fn(&mut Tx<'_>, &PubSub, Args<'_>, &mut dyn Reply) -> Outcome;
