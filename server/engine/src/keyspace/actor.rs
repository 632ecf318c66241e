//! The cause of a change of keys: a client, a transaction, a script, or the engine itself.

use std::cell::Cell;
use std::num::NonZeroU64;

/// The caller of a command.
#[derive(Clone, Copy, Debug)]
pub enum CalledBy<'a> {
    /// A client, which has sent it.
    Client,
    /// EXEC.
    Transaction,
    /// A script, with these keys and arguments.
    Script(&'a ScriptInputs<'a>),
    /// No caller: a deadline has passed, or the engine reads a key for itself.
    Engine,
}

/// What a script was called with.
#[derive(Clone, Debug)]
pub struct ScriptInputs<'a> {
    /// `KEYS`.
    pub keys: &'a [&'a [u8]],
    /// `ARGV`.
    pub arguments: &'a [&'a [u8]],
    /// It has asked whether a key exists, and there was none.
    pub found_none: Cell<bool>,
}

impl<'a> ScriptInputs<'a> {
    /// The inputs of a script that begins.
    #[must_use]
    pub fn new(keys: &'a [&'a [u8]], arguments: &'a [&'a [u8]]) -> Self {
        ScriptInputs { keys, arguments, found_none: Cell::new(false) }
    }
}

/// A session, its command, and how that came to run.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    /// The number of the session; `None` when time acts, or the engine itself.
    pub session: Option<NonZeroU64>,
    /// The caller of the command.
    pub called_by: CalledBy<'a>,
    /// The command with its arguments, its name first; empty when time acts.
    pub command: &'a [&'a [u8]],
}

impl Actor<'static> {
    /// Time, or the engine itself.
    pub const ENGINE: Self = Actor { session: None, called_by: CalledBy::Engine, command: &[] };
}
