//! Commands of an emulated older version: requests that only newer versions accept are refused before the handler.

use super::call::Call;
use super::engine::{Engine, Handler};
use crate::spec::{Args, CommandError, CommandId, Flow, Newer, TimeoutRule, Versions};
use crate::waits::Retry;
use lockwheel_resp::Reply;

impl Engine {
    /// Returns the version's rule for timeouts that begin now.
    pub(crate) fn timeout_rule(&self) -> TimeoutRule {
        TimeoutRule { now: self.clock.now(), takes_far: self.keyspace.far_timeouts }
    }

    /// Starts to refuse requests of these commands that are newer than the version.
    pub(crate) fn refuse_newer(&mut self, newer: Vec<(CommandId, Newer)>) {
        self.versions = Versions::new(newer, &mut self.handlers, Handler::BlockingEngine(run_checked));
    }
}

/// Runs a command with restricted arguments, unless the version refuses the request.
fn run_checked(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let Some(command) = engine.commands.resolve(args).map(|command| command.id) else {
        return Ok(Flow::Done);
    };
    let mut wait = None;
    if let Some(handler) = engine.versions.check(command, args).transpose()? {
        engine.invoke(call, (command, handler), args, reply, &mut wait)?;
    }
    Ok(wait.map_or(Flow::Done, Flow::NotYet))
}
