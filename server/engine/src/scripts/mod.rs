//! The runtime of an engine, and the script that it runs.

use crate::config::Config;
use crate::spec::{CommandError, REDIS_VERSION, errors};
use lockwheel_scripting::{KillError, Options, Runtime, ScriptControl};
use std::sync::Arc;

/// The runtime, and what other threads can see of its running script.
pub(crate) struct Scripts {
    /// Taken out while a script runs.
    runtime: Option<Box<Runtime>>,
    control: Arc<ScriptControl>,
}

impl Scripts {
    /// An interpreter with these parameters.
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        let control = Arc::new(ScriptControl::new());
        let options = Options { memory_limit: config.lua_memory_limit, seed, redis_version: REDIS_VERSION };
        let runtime = Some(Box::new(Runtime::new(options, control.clone())));
        Scripts { runtime, control }
    }

    /// What other threads may see of a running script, and how they stop it.
    pub(crate) fn control(&self) -> &Arc<ScriptControl> {
        &self.control
    }

    /// Whether a script runs: then the caller is within it.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.runtime.is_none()
    }

    /// The interpreter, while no script runs.
    ///
    /// # Errors
    /// `BUSY` while one does.
    pub(crate) fn idle(&mut self) -> Result<&mut Runtime, CommandError> {
        self.runtime.as_deref_mut().ok_or(errors::BUSY)
    }

    /// The interpreter, unless a script runs.
    pub(crate) fn runtime(&self) -> Option<&Runtime> {
        self.runtime.as_deref()
    }

    /// Takes the interpreter to run a script.
    ///
    /// # Errors
    /// `BUSY` while another runs.
    pub(crate) fn take(&mut self) -> Result<Box<Runtime>, CommandError> {
        self.runtime.take().ok_or(errors::BUSY)
    }

    /// Gives it back.
    pub(crate) fn put_back(&mut self, runtime: Box<Runtime>) {
        self.runtime = Some(runtime);
    }
}

/// The error of a kill that cannot be done.
pub fn kill_error(error: KillError) -> CommandError {
    match error {
        KillError::NotBusy => CommandError::text("NOTBUSY No scripts in execution right now."),
        KillError::Unkillable => CommandError::text(
            "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the \
             script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
        ),
    }
}
