//! Commands as an older version has them: requests that only newer ones take are refused before the handler.

use super::call::Call;
use super::engine::{Engine, Handler, Retry};
use super::version_state::Versions;
use crate::spec::{Args, CommandError, CommandId, Flow, Newer, Outcome, TimeoutRule};
use lockwheel_resp::Reply;

impl Engine {
    /// How the version reads timeouts that begin now.
    pub(crate) fn timeout_rule(&self) -> TimeoutRule {
        TimeoutRule { now: self.clock.now(), takes_far: self.keyspace.far_timeouts }
    }

    /// Refuses from now on what of the requests of these commands is newer than the version.
    pub(crate) fn refuse_newer(&mut self, newer: Vec<(CommandId, Newer)>) {
        let check = |handler: &Handler| match handler {
            Handler::BlockingData(_) | Handler::Clock(_) | Handler::BlockingEngine(_) => {
                Handler::BlockingEngine(run_that_may_wait)
            }
            _ => Handler::Engine(run),
        };
        self.versions = Versions::new(newer, &mut self.handlers, check);
    }

    /// The handler of a command that takes less than in the newest version, unless it refuses the request.
    fn checked(&self, args: Args<'_>) -> Result<Option<(CommandId, Handler)>, CommandError> {
        let Some(command) = self.commands.resolve(args).map(|command| command.id) else { return Ok(None) };
        let checked = self.versions.check(command, args).transpose()?;
        Ok(checked.map(|handler| (command, handler)))
    }
}

/// Runs such a command.
fn run(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match engine.checked(args)? {
        Some(checked) => engine.invoke(call, checked, args, reply, &mut None),
        None => Ok(()),
    }
}

/// The same of one that may wait.
fn run_that_may_wait(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let mut wait = None;
    if let Some(checked) = engine.checked(args)? {
        engine.invoke(call, checked, args, reply, &mut wait)?;
    }
    Ok(wait.map_or(Flow::Done, Flow::NotYet))
}
