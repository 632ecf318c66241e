//! ASKING, READONLY, READWRITE: what a client says of its requests. A script's are answered, and change nothing:
//! neither what the script may do nor what its client has said.

use super::ok;
use crate::core::{Call, Engine, Origin};
use crate::spec::{Args, Outcome};
use lockwheel_resp::Reply;

pub(super) fn asking(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cluster = engine.cluster_mut()?;
    if is_for_client(call) {
        cluster.set_asking(call.session, true);
    }
    ok(reply)
}

pub(super) fn read_only(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cluster = engine.cluster_mut()?;
    if is_for_client(call) {
        cluster.set_read_only(call.session, true);
    }
    ok(reply)
}

pub(super) fn read_write(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cluster = engine.cluster_mut()?;
    if is_for_client(call) {
        cluster.set_read_only(call.session, false);
    }
    ok(reply)
}

/// Whether the client itself has said it, or a transaction of its own.
fn is_for_client(call: Call<'_>) -> bool {
    call.origin() != Origin::Script
}
