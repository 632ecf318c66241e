//! ASKING, READONLY, READWRITE: what a client says of its requests.

use super::ok;
use crate::core::{Call, Engine};
use crate::spec::{Args, Outcome};
use lockwheel_resp::Reply;

pub(super) fn asking(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster_mut()?.set_asking(call.session, true);
    ok(reply)
}

pub(super) fn read_only(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster_mut()?.set_read_only(call.session, true);
    ok(reply)
}

pub(super) fn read_write(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.cluster_mut()?.set_read_only(call.session, false);
    ok(reply)
}
