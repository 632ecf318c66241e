//! Who runs a command, and how it came to run.

use crate::clients::{Session, Slot, User};
use crate::keyspace::Actor;
use crate::spec::Args;

/// How a command came to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client sent it.
    Client,
    /// EXEC runs it.
    Transaction,
    /// A script calls it.
    Script,
}

/// Who runs a command, and how.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The session.
    pub slot: Slot,
    /// Whom the session acts as, unless it has not authenticated.
    pub user: Option<User>,
    /// How the command came to run.
    pub origin: Origin,
    /// The keys and arguments of the script that calls it, if one does.
    pub script: Option<&'a [&'a [u8]]>,
}

impl<'a> Call<'a> {
    /// A call by a session, of a request that its client has sent or of one from its transaction.
    #[inline]
    pub(crate) fn by(session: &Session, origin: Origin) -> Self {
        Call { slot: session.slot, user: session.user, origin, script: None }
    }

    /// The calls of a script that this call runs, with these keys and arguments.
    pub(crate) fn of_script(self, words: &'a [&'a [u8]]) -> Self {
        Call { origin: Origin::Script, script: Some(words), ..self }
    }

    /// Who acts, as the keyspace is told.
    #[inline]
    pub(super) fn actor(self, args: Args<'a>) -> Actor<'a> {
        Actor { command: args.all(), script: self.script }
    }
}
