//! What scripts ask of the server.

use lockwheel_resp::Reply;

/// The commands, as a script may call them, and what else it may ask of the server.
///
/// A panic of the host ends the script and resumes from [`Invocation::run`](crate::Invocation::run).
pub trait Host {
    /// Runs one command; `argv[0]` is its name, and there is at least that. The reply, errors included, goes into the
    /// sink: exactly one. All checks are the host's (unknown command, arity, flags, permissions), and so are their
    /// texts.
    fn call(&mut self, argv: &[&[u8]], reply: &mut dyn Reply);

    /// Whether the last call was refused, and no command has run. Asked only where errors are told as before Redis 7.0.
    fn was_refused(&mut self) -> bool {
        false
    }

    /// `redis.log(level, message)`, with a level of 0 (debug) to 3 (warning).
    fn log(&mut self, level: u8, message: &[u8]);

    /// Called from time to time, about once in a millisecond of [`clock_us`](Host::clock_us), once the script has been
    /// declared slow by [`ScriptControl::arm`](crate::ScriptControl::arm): lets the host serve other clients.
    fn on_slow(&mut self) {}

    /// Microseconds of a monotonic clock. Read only for a slow script.
    fn clock_us(&self) -> u64;

    /// The script is answered with an error, alone or within its result, `times` over: `text` is its beginning up to
    /// the first space at least, or all of it. `is_new` unless the error is one that a command has given already.
    fn answered_error(&mut self, text: &[u8], is_new: bool, times: u64);

    /// Whether the user may run this command; none if there is no such command.
    fn may_run(&mut self, argv: &[&[u8]]) -> Option<bool>;
}
