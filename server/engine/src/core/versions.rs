//! Requests that only newer versions than the emulated one accept are refused before the handler.

use super::call::Call;
use super::engine::{Engine, Handler};
use crate::spec::{Args, CommandId, Newer, Outcome, TimeoutRule, Versions, Wait};
use crate::waits::Retry;
use lockwheel_resp::Reply;

impl Engine {
    /// Returns the version's rule for timeouts that begin now.
    pub(crate) fn timeout_rule(&self) -> TimeoutRule {
        TimeoutRule { now: self.clock.now(), takes_far: self.keyspace.far_timeouts }
    }

    /// Starts to refuse requests of these commands that are newer than the version.
    pub(crate) fn refuse_newer(&mut self, newer: Vec<(CommandId, Newer)>) {
        self.versions = Versions::new(newer, &mut self.handlers, Handler::Versioned);
    }
}

/// Runs a command with restricted arguments, unless the version refuses the request.
#[inline(never)]
pub(super) fn run_checked(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
    waits: &mut Option<Box<Wait<Retry>>>,
) -> Outcome {
    let Some(command) = engine.commands.resolve(args).map(|command| command.id) else { return Ok(()) };
    match engine.versions.check(command, args).transpose()? {
        Some(handler) => engine.invoke(call, (command, handler), args, reply, waits),
        None => Ok(()),
    }
}
