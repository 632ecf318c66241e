//! Who changes keys.

use std::num::NonZeroU64;

/// Who calls a command.
#[derive(Clone, Copy, Debug)]
pub enum CalledBy<'a> {
    /// A client, which has sent it.
    Client,
    /// EXEC.
    Transaction,
    /// A script, which was called with these.
    Script(&'a ScriptInputs<'a>),
    /// Nobody: a deadline is over, or the engine looks at a key for itself.
    Engine,
}

/// What a script was called with.
#[derive(Clone, Copy, Debug)]
pub struct ScriptInputs<'a> {
    /// `KEYS`.
    pub keys: &'a [&'a [u8]],
    /// `ARGV`.
    pub arguments: &'a [&'a [u8]],
}

/// A session, its command, and how that came to run.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    /// The number of the session; `None` when time acts, or the engine itself.
    pub session: Option<NonZeroU64>,
    /// Who calls the command.
    pub called_by: CalledBy<'a>,
    /// The command with its arguments, its name first; empty when time acts.
    pub command: &'a [&'a [u8]],
}

impl Actor<'static> {
    /// Time, or the engine itself.
    pub const ENGINE: Self = Actor { session: None, called_by: CalledBy::Engine, command: &[] };
}
