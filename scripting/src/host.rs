//! The services of the server for scripts.

use lockwheel_resp::Reply;

/// The server as a script sees it: the commands that the script may call, and other services.
///
/// A panic of the host ends the script and resumes from [`Invocation::run`](crate::Invocation::run).
pub trait Host {
    /// Runs one command. `argv` has at least one element; `argv[0]` is the name. Writes exactly one reply, which may be
    /// an error, to the sink. The host makes all checks (unknown command, arity, flags, permissions), and supplies
    /// their error texts.
    fn call(&mut self, argv: &[&[u8]], reply: &mut dyn Reply);

    /// Whether the last call was refused without running a command. Called only if error texts are those before Redis
    /// 7.0.
    fn was_refused(&mut self) -> bool {
        false
    }

    /// Limits the script's further changes to the append-only file, to replicas, or to both, for `redis.set_repl`.
    fn limit_changes(&mut self, to_file: bool, to_replicas: bool) {
        let _ = (to_file, to_replicas);
    }

    /// Logs a message for `redis.log(level, message)`, with a level of 0 (debug) to 3 (warning).
    fn log(&mut self, level: u8, message: &[u8]);

    /// Lets the host serve other clients. Called about once in a millisecond of [`clock_us`](Host::clock_us), once
    /// [`ScriptControl::arm`](crate::ScriptControl::arm) has declared the script slow.
    fn on_slow(&mut self) {}

    /// The reading of a monotonic clock, in microseconds. Called only for a slow script.
    fn clock_us(&self) -> u64;

    /// Notes that the script's reply is an error, or has it within, `times` times. `text` is the beginning of the
    /// error, at least to the first space, or all of it. `is_new` says that no command has returned the error already.
    fn answered_error(&mut self, text: &[u8], is_new: bool, times: u64);

    /// Whether the user may run this command. Returns `None` if there is no such command.
    fn may_run(&mut self, argv: &[&[u8]]) -> Option<bool>;
}
