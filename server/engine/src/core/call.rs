//! Who runs a command, and how it came to run.

use crate::clients::{Session, Slot, User};
use crate::keyspace::{Actor, CalledBy, ScriptInputs};
use crate::spec::Args;
use std::num::NonZeroU64;

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
    /// Its number.
    pub session: u64,
    /// Whom the session acts as, unless it has not authenticated.
    pub user: Option<User>,
    /// How the command came to run.
    pub origin: Origin,
    /// What the script was called with that calls it, if one does.
    pub script: Option<&'a ScriptInputs<'a>>,
}

impl<'a> Call<'a> {
    /// A call by a session, of a request that its client has sent or of one from its transaction.
    #[inline]
    pub(crate) fn by(session: &Session, origin: Origin) -> Self {
        Call { slot: session.slot, session: session.id, user: session.user, origin, script: None }
    }

    /// The calls of a script that this call runs, with these keys and arguments.
    pub(crate) fn of_script(self, inputs: &'a ScriptInputs<'a>) -> Self {
        Call { origin: Origin::Script, script: Some(inputs), ..self }
    }

    /// Who acts, as the keyspace is told.
    #[inline]
    pub(super) fn actor(self, args: Args<'a>) -> Actor<'a> {
        let called_by = match (self.script, self.origin) {
            (Some(inputs), _) => CalledBy::Script(inputs),
            (None, Origin::Transaction) => CalledBy::Transaction,
            (None, _) => CalledBy::Client,
        };
        Actor { session: NonZeroU64::new(self.session), called_by, command: args.all() }
    }
}
