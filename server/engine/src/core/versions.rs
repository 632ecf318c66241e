//! Commands as an older version has them: requests that only newer ones take are refused before the handler.

use super::call::Call;
use super::engine::{Engine, Handler};
use crate::spec::{Args, CommandError, CommandId, Flow, Newer, TimeoutRule, Versions};
use crate::waits::Retry;
use lockwheel_resp::Reply;

impl Engine {
    /// How the version reads timeouts that begin now.
    pub(crate) fn timeout_rule(&self) -> TimeoutRule {
        TimeoutRule { now: self.clock.now(), takes_far: self.keyspace.far_timeouts }
    }

    /// Refuses from now on what of the requests of these commands is newer than the version.
    pub(crate) fn refuse_newer(&mut self, newer: Vec<(CommandId, Newer)>) {
        self.versions = Versions::new(newer, &mut self.handlers, Handler::BlockingEngine(run_checked));
    }
}

/// Runs a command that takes less than in the newest version, unless its version refuses the request.
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
