//! What other nodes say.

use crate::core::{Call, Engine};
use crate::spec::{Args, Outcome};
use lockwheel_resp::Reply;

pub(super) fn gossip(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match engine.hear_node(call.session, &args[2])? {
        Some(answer) => reply.bulk(&answer),
        None => reply.null(),
    }
    Ok(())
}
