//! Streams.

pub(super) mod add;
pub(super) mod auto_claim;
pub(super) mod claim;
pub(super) mod delete;
mod deliver;
mod ids;
pub(super) mod info;
pub(super) mod manage_groups;
pub(super) mod pending;
mod propagate;
pub(super) mod range;
pub(super) mod read;
mod read_options;
mod replies;
pub(super) mod set_id;
mod trim_options;

use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Stream, Value};

/// Frees a part of a stream that is no longer needed. A large part is freed later. O(1).
fn free_later(tx: &mut Tx<'_>, part: Stream) {
    tx.free_later(Value::Stream(Box::new(part)));
}
