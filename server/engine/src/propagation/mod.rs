//! Propagation: the effects of commands, as the requests that replicas get.
//!
//! A [`Feed`] subscribes to the keyspace. A command with the same effect everywhere is propagated as it is; others say
//! by [`Tx::propagate`](lockwheel_store::keyspace::Tx::propagate) which request has their effect. Native commands, and
//! the engine when a lease or a wait ends, say by
//! [`Tx::propagate_key`](lockwheel_store::keyspace::Tx::propagate_key) which requests change a key alike. Keys that
//! have changed without a request, and those of commands that Redis 7.0 lacks, are propagated as values. The requests
//! of a command, script or transaction are a [`Unit`], which goes out when it has ended.

mod annotation;
mod feed;
mod key_request;
mod touched;
mod unit;
mod values;

pub(crate) use annotation::{Annotation, ReservedGrants};
pub(crate) use feed::{Feed, FeedRules};
pub(crate) use unit::{Receivers, Unit};
pub(crate) use values::is_newer_request;
