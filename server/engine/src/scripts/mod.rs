//! The script runtime of an engine, its libraries of functions, and the running script.

mod errors;
mod libraries;
mod loading;
mod run;
#[cfg(test)]
mod tests;

pub use errors::busy_error;
use errors::kill_error;
pub(crate) use libraries::{Libraries, Library};
pub(crate) use loading::RestorePolicy;
pub(crate) use run::{ScriptRules, ScriptRun, log_message};

use crate::clients::Slot;
use crate::config::Config;
use crate::spec::{Args, CommandError, Outcome};
use lockwheel_scripting::{EntryKind, Flags, Options, Runtime, ScriptControl, Sha, declared};
use std::sync::Arc;

/// The runtime, and what other threads can see of its running script.
pub struct Scripts {
    /// Taken out while a script runs.
    runtime: Option<Box<Runtime>>,
    control: Arc<ScriptControl>,
    libraries: Libraries,
    slow: Option<SlowRun>,
    /// The session whose script or function runs.
    pub(crate) caller: Option<Slot>,
}

#[derive(Default)]
struct SlowRun {
    /// Whether the log has a message about the run.
    is_logged: bool,
    function: Option<SlowFunction>,
}

pub(crate) struct SlowFunction {
    pub(crate) name: Vec<u8>,
    /// The request that called it.
    pub(crate) command: Vec<Vec<u8>>,
}

impl Scripts {
    /// Returns a runtime with this configuration. `seed` decides its random choices.
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        Scripts::controlled_by(Arc::new(ScriptControl::new()), config, seed)
    }

    fn controlled_by(control: Arc<ScriptControl>, config: &Config, seed: u64) -> Self {
        let redis_version = config.compat.release();
        let options = Options {
            memory_limit: config.lua.memory_limit,
            seed,
            redis_version,
            deprecated_api: config.lua.enable_deprecated_api,
        };
        let runtime = Some(Box::new(Runtime::new(options, control.clone())));
        Scripts { runtime, control, libraries: Libraries::new(seed), slow: None, caller: None }
    }

    /// Resets to a fresh interpreter without scripts and libraries, with this seed. Not while a script runs.
    pub(crate) fn reset(&mut self, config: &Config, seed: u64) {
        debug_assert!(!self.is_running(), "who resets it is no script");
        // The control is kept, because other threads hold it.
        *self = Scripts::controlled_by(self.control.clone(), config, seed);
    }

    /// Returns the control through which other threads observe and stop a running script.
    pub fn control(&self) -> &Arc<ScriptControl> {
        &self.control
    }

    /// Whether a script runs. If so, the caller runs within the script.
    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.runtime.is_none()
    }

    /// Returns the error for a request that arrives while a script runs.
    pub(crate) fn busy(&self) -> CommandError {
        busy_error(self.control.kind())
    }

    /// Returns the interpreter, or `BUSY` while a script runs.
    pub(crate) fn idle(&mut self) -> Result<&mut Runtime, CommandError> {
        self.runtime.as_deref_mut().ok_or_else(|| busy_error(self.control.kind()))
    }

    /// Returns the interpreter, unless a script runs.
    pub(crate) fn runtime(&self) -> Option<&Runtime> {
        self.runtime.as_deref()
    }

    /// Takes the interpreter to run a script. Fails with `BUSY` while another runs.
    pub(crate) fn take(&mut self) -> Result<Box<Runtime>, CommandError> {
        self.runtime.take().ok_or_else(|| busy_error(self.control.kind()))
    }

    pub(crate) fn put_back(&mut self, runtime: Box<Runtime>) {
        self.runtime = Some(runtime);
        self.slow = None;
        self.caller = None;
    }

    /// Returns the flags that the script or function of a request declares. `None` while a script runs.
    pub(crate) fn declared_flags(&self, command: &str, request: Args<'_>) -> Option<Flags> {
        let text = request.all().get(1)?;
        match command {
            "eval" | "eval_ro" => declared(text),
            "evalsha" | "evalsha_ro" => {
                let runtime = self.runtime()?;
                Some(runtime.flags(runtime.find(text)?)).filter(|flags| flags.shebang)
            }
            "fcall" | "fcall_ro" => self.libraries.find(text).map(|function| function.flags),
            _ => None,
        }
    }

    /// Returns the text of the script that a request runs. `None` for a function, or while a script runs.
    pub(crate) fn source<'a>(&'a self, command: &str, request: Args<'a>) -> Option<&'a [u8]> {
        let word = request.all().get(1)?;
        match command {
            "eval" => Some(word),
            "evalsha" => {
                let runtime = self.runtime()?;
                runtime.text(runtime.find(word)?)
            }
            _ => None,
        }
    }

    pub(crate) fn libraries(&self) -> &Libraries {
        &self.libraries
    }

    pub(crate) fn slow_function(&self) -> Option<&SlowFunction> {
        self.slow.as_ref()?.function.as_ref()
    }

    /// Shows other clients the function that this request runs.
    pub(crate) fn show(&mut self, request: Args<'_>) {
        let slow = self.slow.get_or_insert_default();
        if slow.function.is_none() {
            let name = self.libraries.registered(&request[1]).map(|function| function.name.to_vec());
            let command = request.all().iter().map(|word| word.to_vec()).collect();
            slow.function = Some(SlowFunction { name: name.unwrap_or_default(), command });
        }
    }

    /// Whether a script of this session is running: the session has to stay until its request has ended.
    pub fn run_for(&self, slot: Slot) -> bool {
        self.caller == Some(slot)
    }

    /// Logs the running script or function, once, if it has run for at least the configured threshold at this instant
    /// of the monotonic clock. A threshold of 0 disables this. `command` is the name of the request's command. A
    /// function must have been shown by [`Scripts::show`] before.
    pub(crate) fn log_if_slow(
        &mut self,
        (now_ms, threshold_ms): (u64, u64),
        command: &str,
        request: Args<'_>,
    ) {
        let Some(running) = self.control.running() else { return };
        let elapsed_ms = now_ms.saturating_sub(running.since_ms);
        if threshold_ms > 0 && elapsed_ms >= threshold_ms {
            self.log_slow(elapsed_ms, command, request);
        }
    }

    fn log_slow(&mut self, elapsed_ms: u64, command: &str, request: Args<'_>) {
        let slow = self.slow.get_or_insert_default();
        if std::mem::replace(&mut slow.is_logged, true) {
            return;
        }
        let (kill, name) = match &slow.function {
            Some(function) => ("FUNCTION KILL", function.name.clone()),
            None if command.starts_with("evalsha") => ("SCRIPT KILL", request[1].to_ascii_lowercase()),
            None => ("SCRIPT KILL", Sha::of(&request[1]).as_bytes().to_vec()),
        };
        tracing::warn!(
            "Slow script detected: still in execution after {elapsed_ms} milliseconds. You can try killing the \
             script using the {kill} command. Script name is: {}.",
            name.escape_ascii()
        );
    }

    /// Ends the running script or function, and logs it. Fails if none runs, it is of the other kind, or has written.
    pub(crate) fn kill(&self, kind: EntryKind) -> Outcome {
        // Another request may have killed the script, which has not ended yet.
        let is_first = !self.control.is_killed();
        self.control.kill(kind).map_err(kill_error)?;
        if is_first {
            tracing::warn!("Lua script killed by user with SCRIPT KILL.");
        }
        Ok(())
    }

    /// Returns the memory of the interpreters and the libraries in bytes. `None` while a script runs.
    pub(crate) fn memory_used(&self) -> Option<usize> {
        let runtime = self.runtime()?;
        Some(runtime.memory_used() + runtime.functions_memory_used() + self.libraries.bytes())
    }
}
