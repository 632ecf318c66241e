//! Commands as an older version has them: requests that only newer ones take are refused before the handler.

use super::call::Call;
use super::engine::{Engine, Handler};
use super::version_state::Versions;
use crate::spec::{Args, CommandId, Newer, Outcome};
use lockwheel_resp::Reply;

impl Engine {
    /// Refuses from now on what of the requests of these commands is newer than the version. None of them waits.
    pub(crate) fn refuse_newer(&mut self, newer: Vec<(CommandId, Newer)>) {
        let at_once = |handler: &Handler| {
            let waits = matches!(handler, Handler::BlockingData(_) | Handler::BlockingEngine(_));
            debug_assert!(!waits, "what waits is not checked");
            !waits
        };
        self.versions = Versions::new(newer, &mut self.handlers, Handler::Engine(run), at_once);
    }
}

/// Runs a command that takes less than in the newest version.
fn run(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let Some(command) = engine.commands.resolve(args).map(|command| command.id) else { return Ok(()) };
    match engine.versions.check(command, args) {
        Some(checked) => engine.invoke(call, (command, checked?), args, reply, &mut None),
        None => Ok(()),
    }
}
